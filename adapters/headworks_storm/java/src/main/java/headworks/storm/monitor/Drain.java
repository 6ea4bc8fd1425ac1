package headworks.storm.monitor;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Whether a worker of a topology that was deactivated is empty, beyond what its queues and acks tell: for how long its spouts
 * paused, as Storm counts it (that Nimbus knows of the pause says nothing of a worker that has not looked yet), and how many
 * tuples its bolts hold. A bolt that gathers tuples and writes them from tick to tick tells by
 * {@code context.registerGauge("headworks-held", batch::size)}.
 */
final class Drain {
    private static final String INACTIVE = "__skipped-inactive-ms";
    private static final String HELD = "headworks-held";

    private final String topology;
    private final int port;
    private final Map<Integer, Long> pausesBefore = new HashMap<>();
    private final Map<Integer, Long> pauses = new TreeMap<>();
    private final Map<Integer, Long> held = new TreeMap<>();

    Drain(String topology, int port) {
        this.topology = topology;
        this.port = port;
    }

    /** Looks at the metrics, for both rows. */
    void look() {
        pauses.clear();
        held.clear();
        QueueReporter.each(topology, port, (task, name, metric) -> {
            if (name.equals(INACTIVE) && metric instanceof Counter) {
                pauses.put(task, ((Counter) metric).getCount());
            } else if (name.equals(HELD) && metric instanceof Gauge) {
                hold(task, metric);
            }
        });
    }

    /** A gauge that fails tells nothing. */
    private void hold(int task, Metric metric) {
        try {
            held.put(task, Math.max(0, ((Number) ((Gauge<?>) metric).getValue()).longValue()));
        } catch (RuntimeException unknown) {
            // A gauge of somebody else's bolt: the report does without.
        }
    }

    /** Appends {@code [first task,milliseconds since last time]} of the executor of every spout. */
    void tellPaused(StringBuilder json) {
        pauses.forEach((task, now) -> {
            Long last = pausesBefore.put(task, now);
            json.append('[').append(task).append(',').append(now - (last == null ? 0 : last)).append("],");
        });
    }

    /** Appends {@code [task,tuples]} of every task that tells. */
    void tellHeld(StringBuilder json) {
        held.forEach((task, tuples) -> json.append('[').append(task).append(',').append(tuples).append("],"));
    }
}
