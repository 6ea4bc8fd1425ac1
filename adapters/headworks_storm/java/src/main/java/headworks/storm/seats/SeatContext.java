package headworks.storm.seats;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricSet;
import com.codahale.metrics.Timer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

/**
 * The context of a logical task: ids, streams and tasks are those that it would have without seats. Data of the executor and
 * resources of the worker are those of the physical task; so are metrics and hooks, as long as the task lives there.
 */
final class SeatContext extends TopologyContext {
    private final SeatWorker worker;
    private final TopologyContext physical;
    private final SeatMetrics metrics;
    private final AtomicBoolean prepared;
    private final boolean apart;
    private final List<SeatHook> hooks = new ArrayList<>();

    SeatContext(SeatWorker worker, TopologyContext physical) {
        this(worker, physical, SeatMetrics.of(physical), new AtomicBoolean(), false);
    }

    private SeatContext(SeatWorker worker, TopologyContext physical, SeatMetrics metrics, AtomicBoolean prepared, boolean apart) {
        super(worker.topology, worker.context.getConf(), worker.components, worker.tasks, worker.fields,
            physical.getBlobToLastKnownVersion(), physical.getStormId(), physical.getCodeDir(), physical.getPIDDir(),
            worker.ids.logical(physical.getThisTaskId()), physical.getThisWorkerPort(), physical.getThisWorkerTasks(),
            Map.of(), Map.of(), new HashMap<>(), new HashMap<>(), prepared, null);
        this.worker = worker;
        this.physical = physical;
        this.metrics = metrics;
        this.prepared = prepared;
        this.apart = apart;
    }

    /** The context of an instance that tries something: nothing of what it registers reaches the executor. */
    static SeatContext apart(SeatWorker worker, TopologyContext physical) {
        return new SeatContext(worker, physical, SeatMetrics.apart(physical), new AtomicBoolean(), true);
    }

    @Override
    public List<Integer> getThisWorkerTasks() {
        return worker.here(physical.getThisWorkerTasks());
    }

    @Override
    public Object getResource(String name) {
        return physical.getResource(name);
    }

    @Override
    public ExecutorService getSharedExecutor() {
        return physical.getSharedExecutor();
    }

    @Override
    public void setExecutorData(String name, Object data) {
        if (apart) {
            super.setExecutorData(name, data);
        } else {
            physical.setExecutorData(name, data);
        }
    }

    @Override
    public Object getExecutorData(String name) {
        Object own = apart ? super.getExecutorData(name) : null;
        return own != null ? own : physical.getExecutorData(name);
    }

    /** Storm calls hooks with physical ids; these are told of logical ones. */
    @Override
    public void addTaskHook(ITaskHook hook) {
        hook.prepare(getConf(), this);
        getHooks().add(hook);
        SeatHook told = new SeatHook(hook, worker);
        hooks.add(told);
        if (!apart) {
            physical.addTaskHook(told);
        }
    }

    /** Of the other kinds of metrics Storm makes one of these. */
    @Deprecated // in Storm
    @Override
    public <T extends IMetric> T registerMetric(String name, T metric, int seconds) {
        T registered = super.registerMetric(name, metric, seconds);
        metrics.add(name, registered, seconds);
        return registered;
    }

    @Override
    public Timer registerTimer(String name) {
        return metrics.add(metrics.registry.timer(name, physical));
    }

    @Override
    public Histogram registerHistogram(String name) {
        return metrics.add(metrics.registry.histogram(name, physical));
    }

    @Override
    public Meter registerMeter(String name) {
        return metrics.add(metrics.registry.meter(name, physical));
    }

    @Override
    public Counter registerCounter(String name) {
        return metrics.add(metrics.registry.counter(name, physical));
    }

    @Override
    public <T> Gauge<T> registerGauge(String name, Gauge<T> gauge) {
        return metrics.add(metrics.registry.gauge(name, gauge, physical));
    }

    @Override
    public void registerMetricSet(String prefix, MetricSet set) {
        Map<String, Metric> found = set.getMetrics(); // some make others each time
        metrics.registry.metricSet(prefix, () -> found, physical);
        found.values().forEach(metrics::add);
    }

    /** Its component is made: metrics of the older interface are no longer taken. */
    void prepared() {
        prepared.set(true);
    }

    /** The task lives elsewhere from now on: its metrics are no longer told of. */
    void leave() {
        metrics.leave();
    }

    /** Nothing happens here any more. */
    void end() {
        hooks.forEach(SeatHook::end);
    }
}
