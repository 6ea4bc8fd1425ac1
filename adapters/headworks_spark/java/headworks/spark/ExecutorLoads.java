package headworks.spark;

import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/** Executors that may run the tasks of a set, the oldest first: how many tasks each can run at once, and how many it runs. */
final class ExecutorLoads {
    final String[] ids;
    final int[] slots;
    final int[] running;
    private final Map<String, Integer> numbers = new HashMap<String, Integer>();

    ExecutorLoads(Collection<String> executors) {
        TreeMap<String, String> sorted = new TreeMap<String, String>();
        Iterator<?> all = executors.iterator();
        while (all.hasNext()) {
            String id = (String) all.next();
            // Spark counts them, so that 10 comes after 9.
            sorted.put((char) id.length() + id, id);
        }
        ids = new String[sorted.size()];
        slots = new int[ids.length];
        running = new int[ids.length];
        all = sorted.values().iterator();
        for (int i = 0; i < ids.length; i++) {
            ids[i] = (String) all.next();
            numbers.put(ids[i], Integer.valueOf(i));
        }
    }

    /** The number of an executor; -1 if it is none of these. */
    int of(String executor) {
        Integer number = (Integer) numbers.get(executor);
        return number == null ? -1 : number.intValue();
    }
}
