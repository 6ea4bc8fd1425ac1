package headworks.spark.connect;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;

/** Queues of events that clients read, by name. One that nobody reads any more goes when the next one comes. */
final class ReadEvents {
    private static final Map<String, ReadEvents> ALL = new ConcurrentHashMap<String, ReadEvents>();

    private final SessionEvents queue;
    private final SparkContext context;
    private volatile boolean closed = false;
    private long number = 0;
    private Object[] answer = null;

    private ReadEvents(SessionEvents queue, SparkContext context) {
        this.queue = queue;
        this.context = context;
    }

    static void open(String name, SessionEvents queue, SparkContext context) {
        Iterator<?> all = ALL.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<?, ?> each = (Map.Entry<?, ?>) all.next();
            if (((ReadEvents) each.getValue()).queue.isSilent()) {
                close((String) each.getKey());
                ALL.remove(each.getKey());
            }
        }
        ALL.put(name, new ReadEvents(queue, context));
        context.addSparkListener(queue);
    }

    /**
     * Events as `EventQueue.take` gives them, and the number of those that were lost; null if there is no such queue. The
     * same number has the same answer again: Connect repeats what it is not sure of.
     */
    static Object[] take(String name, long number, int most, long millis, long linger) throws InterruptedException {
        ReadEvents found = (ReadEvents) ALL.get(name);
        if (found != null && found.queue.isSilent()) {
            close(name);
            ALL.remove(name);
            return null;
        }
        return found == null ? null : found.taken(name, number, most, millis, linger);
    }

    private synchronized Object[] taken(String name, long number, int most, long millis, long linger)
        throws InterruptedException {
        queue.read();
        if (number != this.number) {
            String text = queue.take(most, millis, linger);
            this.number = number;
            answer = new Object[] {text, Long.valueOf(queue.dropped())};
            if (closed && text.isEmpty()) {
                ALL.remove(name);
            }
        }
        return answer;
    }

    static void close(String name) {
        ReadEvents found = (ReadEvents) ALL.get(name);
        if (found != null) {
            found.context.removeSparkListener(found.queue);
            found.closed = true;
            found.queue.close();
        }
    }
}
