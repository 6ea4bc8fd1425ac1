package headworks.storm.seats;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.Meter;
import com.codahale.metrics.MetricSet;
import com.codahale.metrics.Timer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.metric.api.CombinedMetric;
import org.apache.storm.metric.api.ICombiner;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metric.api.IReducer;
import org.apache.storm.metric.api.ReducedMetric;
import org.apache.storm.task.TopologyContext;

/**
 * The context of a logical task: ids, streams and tasks are those that it would have without seats. Metrics, data of the
 * executor and resources of the worker are those of the physical task.
 */
final class SeatContext extends TopologyContext {
    private final SeatWorker worker;
    private final TopologyContext physical;

    SeatContext(SeatWorker worker, TopologyContext physical) {
        super(worker.topology, worker.context.getConf(), worker.components, worker.tasks, worker.fields,
            physical.getBlobToLastKnownVersion(), physical.getStormId(), physical.getCodeDir(), physical.getPIDDir(),
            worker.ids.logical(physical.getThisTaskId()), physical.getThisWorkerPort(), physical.getThisWorkerTasks(),
            Map.of(), Map.of(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(), null);
        this.worker = worker;
        this.physical = physical;
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
        physical.setExecutorData(name, data);
    }

    @Override
    public Object getExecutorData(String name) {
        return physical.getExecutorData(name);
    }

    /** Storm calls hooks with physical ids; these are told of logical ones. */
    @Override
    public void addTaskHook(ITaskHook hook) {
        hook.prepare(getConf(), this);
        getHooks().add(hook);
        physical.addTaskHook(new SeatHook(hook, worker));
    }

    @Deprecated // in Storm
    @Override
    public <T extends IMetric> T registerMetric(String name, T metric, int seconds) {
        return physical.registerMetric(name, metric, seconds);
    }

    @Deprecated // in Storm
    @Override
    @SuppressWarnings("rawtypes") // as in Storm
    public ReducedMetric registerMetric(String name, IReducer reducer, int seconds) {
        return physical.registerMetric(name, reducer, seconds);
    }

    @Deprecated // in Storm
    @Override
    @SuppressWarnings("rawtypes") // as in Storm
    public CombinedMetric registerMetric(String name, ICombiner combiner, int seconds) {
        return physical.registerMetric(name, combiner, seconds);
    }

    @Deprecated // in Storm
    @Override
    public IMetric getRegisteredMetricByName(String name) {
        return physical.getRegisteredMetricByName(name);
    }

    @Override
    public Timer registerTimer(String name) {
        return physical.registerTimer(name);
    }

    @Override
    public Histogram registerHistogram(String name) {
        return physical.registerHistogram(name);
    }

    @Override
    public Meter registerMeter(String name) {
        return physical.registerMeter(name);
    }

    @Override
    public Counter registerCounter(String name) {
        return physical.registerCounter(name);
    }

    @Override
    public <T> Gauge<T> registerGauge(String name, Gauge<T> gauge) {
        return physical.registerGauge(name, gauge);
    }

    @Override
    public void registerMetricSet(String prefix, MetricSet set) {
        physical.registerMetricSet(prefix, set);
    }
}
