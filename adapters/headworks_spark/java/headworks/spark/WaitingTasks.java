package headworks.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Tasks of a set, by index, that wait for one executor, or for any on their hosts, and since when. */
final class WaitingTasks {
    private final Map<Integer, List<String>> hosts = new TreeMap<Integer, List<String>>();
    private final Map<Integer, String> executors = new HashMap<Integer, String>();
    private final Map<Integer, Long> since = new HashMap<Integer, Long>();
    private final Map<String, Set<Integer>> ofExecutor = new HashMap<String, Set<Integer>>();
    private final Map<String, Set<Integer>> ofHost = new HashMap<String, Set<Integer>>();

    boolean isEmpty() {
        return hosts.isEmpty();
    }

    /** Wait for an executor on one of the hosts, or for any there if it is null. */
    void add(int index, List<String> places, String executor, long now) {
        remove(index);
        hosts.put(Integer.valueOf(index), places);
        since.put(Integer.valueOf(index), Long.valueOf(now));
        if (executor == null) {
            for (int i = 0; i < places.size(); i++) {
                queue(ofHost, (String) places.get(i), index);
            }
        } else {
            executors.put(Integer.valueOf(index), executor);
            queue(ofExecutor, executor, index);
        }
    }

    void remove(int index) {
        List<String> places = (List<String>) hosts.remove(Integer.valueOf(index));
        String executor = (String) executors.remove(Integer.valueOf(index));
        if (executor != null) {
            on(executor).remove(Integer.valueOf(index));
        }
        for (int i = 0; places != null && executor == null && i < places.size(); i++) {
            onHost((String) places.get(i)).remove(Integer.valueOf(index));
        }
    }

    /** Those that wait for an executor, the lowest index first. */
    Set<Integer> on(String executor) {
        return of(ofExecutor, executor);
    }

    /** Those that wait for any executor of a host, the lowest index first. */
    Set<Integer> onHost(String host) {
        return of(ofHost, host);
    }

    List<String> hosts(int index) {
        return (List<String>) hosts.get(Integer.valueOf(index));
    }

    /** The executor that a task waits for; null if any on its hosts will do. */
    String executor(int index) {
        return (String) executors.get(Integer.valueOf(index));
    }

    long since(int index) {
        return ((Long) since.get(Integer.valueOf(index))).longValue();
    }

    /** A copy of all indices. */
    int[] indices() {
        Object[] all = hosts.keySet().toArray();
        int[] indices = new int[all.length];
        for (int i = 0; i < all.length; i++) {
            indices[i] = ((Integer) all[i]).intValue();
        }
        return indices;
    }

    private static void queue(Map<String, Set<Integer>> queues, String key, int index) {
        if (!queues.containsKey(key)) {
            queues.put(key, new TreeSet<Integer>());
        }
        ((Set<Integer>) queues.get(key)).add(Integer.valueOf(index));
    }

    private static Set<Integer> of(Map<String, Set<Integer>> queues, String key) {
        Set<Integer> queue = (Set<Integer>) queues.get(key);
        return queue == null ? Collections.<Integer>emptySet() : queue;
    }
}
