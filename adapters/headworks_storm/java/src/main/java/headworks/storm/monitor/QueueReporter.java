package headworks.storm.monitor;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Pattern;
import org.apache.storm.metrics2.reporters.StormReporter;

/**
 * Hands the gauges of a worker's receive queues and spouts to its reports. Named as a class in
 * {@code topology.metrics.reporters}; without it reports have no queue lengths and nothing of sources.
 */
public final class QueueReporter implements StormReporter {
    /** One in a worker; a local cluster has several workers in one process. */
    private static final List<MetricRegistry> REGISTRIES = new CopyOnWriteArrayList<>();
    private static final Set<String> PARTS = Set.of("receive-queue-population", "receive-queue-overflow");
    private static final Pattern TASK = Pattern.compile("-?\\d{1,9}");
    private static final List<String> KINDS = List.of("storm.worker.", "storm.topology.");

    private MetricRegistry registry;

    @Deprecated // in Storm, which has no other that a reporter must have
    @Override
    public void prepare(MetricRegistry registry, Map<String, Object> conf, Map<String, Object> own) {
        this.registry = registry;
    }

    @Override
    public void start() {
        REGISTRIES.add(registry);
    }

    @Override
    public void stop() {
        REGISTRIES.remove(registry);
    }

    @Override
    public void close() {
        stop();
    }

    /** Adds the queue length of every executor of a worker, by its first task. */
    static void read(String topology, int port, Map<Integer, Long> lengths) {
        each(topology, port, (task, name, metric) -> {
            if (PARTS.contains(name)) {
                lengths.merge(task, ((Number) ((Gauge<?>) metric).getValue()).longValue(), Long::sum);
            }
        });
    }

    /**
     * Visits every metric of the tasks of a worker.
     *
     * <p>The names are {@code storm.worker.TOPOLOGY.HOST.COMPONENT.TASK.PORT-receive-queue-population}, those of metrics
     * that a component registered begin with {@code storm.topology.}; dots within the other parts are underscores.
     */
    static void each(String topology, int port, Visitor visitor) {
        String end = "." + port + "-";
        for (MetricRegistry registry : REGISTRIES) {
            for (Map.Entry<String, Metric> each : registry.getMetrics().entrySet()) {
                String name = each.getKey();
                for (String kind : KINDS) {
                    String begin = kind + topology + ".";
                    int at = name.startsWith(begin) ? name.indexOf(end, begin.length()) : -1;
                    String task = at < 0 ? "" : name.substring(name.lastIndexOf('.', at - 1) + 1, at);
                    if (TASK.matcher(task).matches()) {
                        visitor.visit(Integer.parseInt(task), name.substring(at + end.length()), each.getValue());
                    }
                }
            }
        }
    }

    /** Is told of a metric: its task, its name, itself. */
    interface Visitor {
        void visit(int task, String name, Metric metric);
    }
}
