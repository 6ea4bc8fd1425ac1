package headworks.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.util.JsonProtocol;

/**
 * Keeps events in the driver until Python takes many of them in one call.
 *
 * Spark's bus is told nothing but "in the queue" or "dropped"; text is made by the thread that takes.
 */
public class EventQueue extends SparkListener {
    private static final String QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$";

    private final ArrayBlockingQueue<SparkListenerEvent> queue;
    /** A permit says that something is in the queue that somebody may wait for. */
    private final Semaphore urgent = new Semaphore(0);
    private final AtomicLong dropped = new AtomicLong();
    private volatile boolean closed = false;

    public EventQueue(int capacity) {
        queue = new ArrayBlockingQueue<SparkListenerEvent>(capacity);
    }

    /** Events that were lost because the queue was full. */
    public long dropped() {
        return dropped.get();
    }

    /** Let `take` return at once from now on, with what is left. */
    public void close() {
        closed = true;
        urgent.release();
    }

    /**
     * Wait for an event, at most `millis`, then `linger` for others, and take them all, at most `most`.
     *
     * Ends of tasks linger, so that a job of short tasks does not cost a call for almost each of them. The end of a
     * stage, of a job or of a micro-batch ends the lingering.
     *
     * @return one JSON object a line, in Spark's own form; a line that starts with "!" says what could not be written
     */
    public String take(int most, long millis, long linger) throws InterruptedException {
        List<Object> events = new ArrayList<Object>();
        Object first = queue.poll(closed ? 0 : millis, TimeUnit.MILLISECONDS);
        if (first != null) {
            events.add(first);
            if (!closed && queue.size() < most - 1) {
                linger(linger);
            }
            urgent.drainPermits();
            ((java.util.concurrent.BlockingQueue) queue).drainTo(events, most - 1);
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < events.size(); i++) {
            write((SparkListenerEvent) events.get(i), text);
        }
        return text.toString();
    }

    /** Wait for an urgent event; where somebody interrupts that, what was taken until then is not lost. */
    private void linger(long millis) {
        try {
            urgent.tryAcquire(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void write(SparkListenerEvent event, StringBuilder text) {
        try {
            if (event instanceof SparkListenerTaskEnd) {
                TaskEndText.write((SparkListenerTaskEnd) event, text);
            } else {
                text.append(JsonProtocol.sparkEventToJsonString(event));
            }
        } catch (RuntimeException error) {
            text.append('!').append(error.toString().replace('\n', ' '));
        }
        text.append('\n');
    }

    /** Forget what waits. */
    protected final void clear() {
        queue.clear();
    }

    private void add(SparkListenerEvent event) {
        if (!queue.offer(event)) {
            dropped.incrementAndGet();
        }
    }

    private void addUrgent(SparkListenerEvent event) {
        add(event);
        urgent.release();
    }

    public void onTaskEnd(SparkListenerTaskEnd event) {
        add(event);
    }

    public void onJobStart(SparkListenerJobStart event) {
        add(event);
    }

    public void onJobEnd(SparkListenerJobEnd event) {
        addUrgent(event);
    }

    public void onStageCompleted(SparkListenerStageCompleted event) {
        addUrgent(event);
    }

    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        addUrgent(event);
    }

    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        addUrgent(event);
    }

    /** Events of streaming queries come this way. */
    public void onOtherEvent(SparkListenerEvent event) {
        if (event.getClass().getName().startsWith(QUERY)) {
            addUrgent(event);
        }
    }
}
