package headgate.storm.monitor;

import com.codahale.metrics.Gauge;
import java.util.Map;
import java.util.TreeMap;

/**
 * Tuples that the tasks of a worker hold in no queue, as they tell by a gauge of this name: a bolt that gathers tuples and
 * writes them from tick to tick registers it with {@code context.registerGauge("headgate-held", batch::size)}.
 */
final class Holdings {
    private static final String HELD = "headgate-held";

    private final String topology;
    private final int port;

    Holdings(String topology, int port) {
        this.topology = topology;
        this.port = port;
    }

    /** Appends {@code [task,tuples]} of every task that tells; a gauge that fails tells nothing. */
    void tell(StringBuilder json) {
        Map<Integer, Long> held = new TreeMap<>();
        QueueReporter.each(topology, port, (task, name, metric) -> {
            if (name.equals(HELD) && metric instanceof Gauge) {
                try {
                    held.put(task, Math.max(0, ((Number) ((Gauge<?>) metric).getValue()).longValue()));
                } catch (RuntimeException unknown) {
                    // A gauge of somebody else's bolt: the report does without.
                }
            }
        });
        held.forEach((task, tuples) -> json.append('[').append(task).append(',').append(tuples).append("],"));
    }
}
