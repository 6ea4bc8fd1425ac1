package headgate.storm.monitor;

import com.codahale.metrics.Counter;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * For how long a worker's spouts paused, as Storm itself counts it: while a topology is deactivated. That Nimbus knows of it
 * says nothing of a worker that has not looked yet.
 */
final class Pauses {
    private static final String INACTIVE = "__skipped-inactive-ms";

    private final String topology;
    private final int port;
    private final Map<Integer, Long> before = new HashMap<>();

    Pauses(String topology, int port) {
        this.topology = topology;
        this.port = port;
    }

    /** Appends {@code [first task,milliseconds since last time]} of the executor of every spout. */
    void tell(StringBuilder json) {
        Map<Integer, Long> all = new TreeMap<>();
        QueueReporter.each(topology, port, (task, name, metric) -> {
            if (name.equals(INACTIVE) && metric instanceof Counter) {
                all.put(task, ((Counter) metric).getCount());
            }
        });
        all.forEach((task, now) -> {
            Long last = before.put(task, now);
            json.append('[').append(task).append(',').append(now - (last == null ? 0 : last)).append("],");
        });
    }
}
