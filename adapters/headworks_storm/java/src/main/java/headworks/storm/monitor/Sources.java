package headworks.storm.monitor;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * What arrives at a worker's spouts from outside, as their own gauges say it, whatever of it they emit.
 *
 * <p>The gauges are those of Storm's Kafka spout, whose names end in {@code totalLatestTimeOffset} (what ever arrived) and
 * {@code totalLatestEmittedOffset} (what was taken of it); any other spout may register gauges so named. Storm itself
 * counts the milliseconds for which it did not ask a spout, as too many of its tuples were pending or the next queue was
 * full.
 */
final class Sources {
    private static final String ARRIVED = "totalLatestTimeOffset";
    private static final String TAKEN = "totalLatestEmittedOffset";
    private static final String PENDING = "__skipped-max-spout-ms";
    private static final String PRESSED = "__skipped-backpressure-ms";

    private final String topology;
    private final int port;
    /** By task: what had arrived, been taken, and been counted of its pauses at the last report. */
    private final Map<Integer, Double> arrivedBefore = new HashMap<>();
    private final Map<Integer, Double> takenBefore = new HashMap<>();
    private final Map<Integer, Double> heldBefore = new HashMap<>();

    Sources(String topology, int port) {
        this.topology = topology;
        this.port = port;
    }

    /** Appends {@code [task,arrived,taken,held]} of every spout that says any of it, each since last time. */
    void tell(StringBuilder json) {
        Map<Integer, Double> arrived = new TreeMap<>();
        Map<Integer, Double> taken = new TreeMap<>();
        Map<Integer, Double> held = new TreeMap<>();
        QueueReporter.each(topology, port, (task, name, metric) -> {
            if (name.endsWith(ARRIVED)) {
                add(arrived, task, metric);
            } else if (name.endsWith(TAKEN)) {
                add(taken, task, metric);
            } else if (name.equals(PENDING) || name.equals(PRESSED)) {
                add(held, task, metric);
            }
        });
        held.keySet().forEach(task -> arrived.putIfAbsent(task, Double.NaN));
        arrived.forEach((task, all) -> {
            json.append('[').append(task).append(',').append(since(arrivedBefore, task, all)).append(',');
            json.append(since(takenBefore, task, taken.getOrDefault(task, Double.NaN))).append(',');
            json.append(since(heldBefore, task, held.getOrDefault(task, Double.NaN))).append("],");
        });
    }

    private static String since(Map<Integer, Double> before, int task, double now) {
        Double last = before.put(task, now);
        return whole(last == null ? Double.NaN : now - last);
    }

    /** Adds what a gauge says; one that fails, as while Kafka hands partitions over, makes the sum unknown. */
    private static void add(Map<Integer, Double> sums, int task, Metric metric) {
        double value = Double.NaN;
        try {
            value = metric instanceof Counter
                ? ((Counter) metric).getCount()
                : ((Number) ((Gauge<?>) metric).getValue()).doubleValue();
        } catch (RuntimeException unknown) {
            // A gauge of somebody else's spout: the report does without.
        }
        sums.merge(task, value, Double::sum);
    }

    /** A whole number that is not negative, or null. */
    private static String whole(double value) {
        return value >= 0 && value < 1e15 ? Long.toString(Math.round(value)) : "null";
    }
}
