package headworks.storm.seats;

import com.codahale.metrics.Metric;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.Config;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.ObjectReader;

/**
 * The metrics of one life of a task: they are those of its executor until it leaves.
 *
 * <p>Storm takes each name once of an executor, and metrics of its older interface only while its components are made. A
 * task may come to an executor at any time, and come again.
 */
final class SeatMetrics {
    /** Fields of Storm's registry in which it keeps metrics by task, and does not let go of those that are deregistered. */
    private static final List<String> KEPT =
        List.of("taskIdGauges", "taskIdMeters", "taskIdCounters", "taskIdTimers", "taskIdHistograms");
    private static final int USUAL_BUCKET = 60;

    /** Where those of the newer interface go. */
    final StormMetricRegistry registry;
    private final int task;
    private final int usual;
    /** True once the executor is told when to tell of metrics: of buckets that come later it never is. */
    private final AtomicBoolean begun;
    /** Those of the older interface by bucket in seconds, task and name. */
    private final Map<Integer, Map<Integer, Map<String, IMetric>>> older;
    private final List<Map<Integer, ? extends Map<String, ?>>> kept = new ArrayList<>();
    private final Set<Metric> own = Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
    private final Set<IMetric> ownOlder = Collections.newSetFromMap(new IdentityHashMap<>());

    private SeatMetrics(TopologyContext physical, StormMetricRegistry registry, AtomicBoolean begun,
            Map<Integer, Map<Integer, Map<String, IMetric>>> older) {
        this.registry = registry;
        this.begun = begun;
        this.older = older;
        task = physical.getThisTaskId();
        usual = usual(physical);
        for (String each : KEPT) {
            kept.add(field(StormMetricRegistry.class, registry, each));
        }
    }

    /** Those that the executor of a physical task tells of. */
    static SeatMetrics of(TopologyContext physical) {
        return new SeatMetrics(physical, field(TopologyContext.class, physical, "metricRegistry"),
            field(TopologyContext.class, physical, "openOrPrepareWasCalled"), older(physical));
    }

    /** Those that nobody is told of. */
    static SeatMetrics apart(TopologyContext physical) {
        return new SeatMetrics(physical, new StormMetricRegistry(), new AtomicBoolean(), new HashMap<>());
    }

    /** Have the executor of a seat tell of metrics of whoever comes to live there; while its components are made. */
    static void expect(TopologyContext physical) {
        older(physical).computeIfAbsent(usual(physical), any -> new HashMap<>());
    }

    private static Map<Integer, Map<Integer, Map<String, IMetric>>> older(TopologyContext physical) {
        return field(TopologyContext.class, physical, "registeredMetrics");
    }

    private static int usual(TopologyContext physical) {
        return ObjectReader.getInt(physical.getConf().get(Config.TOPOLOGY_BUILTIN_METRICS_BUCKET_SIZE_SECS), USUAL_BUCKET);
    }

    @SuppressWarnings("unchecked")
    private static <T> T field(Class<?> kind, Object owner, String name) {
        try {
            Field field = kind.getDeclaredField(name);
            field.setAccessible(true);
            return (T) field.get(owner);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this Storm keeps metrics in another way", other);
        }
    }

    /** Keep in mind what was registered, of the newer interface. */
    <T extends Metric> T add(T metric) {
        own.add(metric);
        return metric;
    }

    /** Register one of the older interface; one whose bucket the executor does not tell of is told in the usual one. */
    void add(String name, IMetric metric, int seconds) {
        ownOlder.add(metric);
        int bucket = !begun.get() || older.containsKey(seconds) ? seconds : usual;
        older.computeIfAbsent(bucket, any -> new HashMap<>()).computeIfAbsent(task, any -> new HashMap<>()).put(name, metric);
    }

    /** Take back all that was registered. */
    void leave() {
        registry.deregister(own);
        kept.forEach(each -> drop(each.get(task), own));
        older.values().forEach(each -> drop(each.get(task), ownOlder));
    }

    private static void drop(Map<String, ?> metrics, Set<?> own) {
        if (metrics != null) {
            metrics.values().removeIf(own::contains);
        }
    }
}
