package headgate.storm.monitor;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.storm.metrics2.reporters.StormReporter;

/**
 * Hands the gauges of a worker's receive queues to its reports. Named as a class in
 * {@code topology.metrics.reporters}; without it reports have no queue lengths.
 */
public final class QueueReporter implements StormReporter {
    /** One in a worker; a local cluster has several workers in one process. */
    private static final List<MetricRegistry> REGISTRIES = new CopyOnWriteArrayList<>();
    private static final String[] PARTS = {"-receive-queue-population", "-receive-queue-overflow"};

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

    /**
     * Adds the queue length of every executor of a worker, by its first task.
     *
     * <p>The names are {@code storm.worker.TOPOLOGY.HOST.COMPONENT.TASK.PORT-receive-queue-population}.
     */
    static void read(String topology, int port, Map<Integer, Long> lengths) {
        String begin = "storm.worker." + topology + ".";
        for (MetricRegistry registry : REGISTRIES) {
            for (Map.Entry<String, Metric> each : registry.getMetrics().entrySet()) {
                for (String part : PARTS) {
                    String end = "." + port + part;
                    String name = each.getKey();
                    if (name.endsWith(end) && name.startsWith(begin)) {
                        String known = name.substring(0, name.length() - end.length());
                        Number length = (Number) ((Gauge<?>) each.getValue()).getValue();
                        int task = Integer.parseInt(known.substring(known.lastIndexOf('.') + 1));
                        lengths.merge(task, length.longValue(), Long::sum);
                    }
                }
            }
        }
    }
}
