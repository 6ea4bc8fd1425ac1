package headworks.storm.monitor;

import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts what one task does, for the report of its worker. Named in {@code topology.auto.task.hooks}, it needs no
 * change of a topology. A task that it cannot count goes on uncounted: no error of this class reaches Storm.
 *
 * <p>A busy bolt is counted by {@link SampledHooks}. A spout whose tuples are acked is counted one by one: those that are
 * pending are a difference, which would drift away.
 */
public final class TaskHook extends BaseTaskHook {
    private static final Logger LOG = LoggerFactory.getLogger(TaskHook.class);

    private int task;
    private TopologyContext context;
    private boolean known;
    private boolean acking;
    private Reporter reporter;
    /** Null where this Storm keeps hooks in another way, and tells of everything. */
    private SampledHooks hooks;
    /** Null where nothing is counted. */
    private volatile Counts counts;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        try {
            task = context.getThisTaskId();
            this.context = context;
            hooks = SampledHooks.of(context);
            Settings settings = Settings.of(conf);
            known = settings == null;
            if (settings != null && task >= 0 && !conf.containsKey(WorkerTallies.COUNTED)) {
                acking = !context.getComponentTasks("__acker").isEmpty();
                boolean spout = context.getRawTopology().get_spouts().containsKey(context.getThisComponentId());
                Counts fresh = new Counts(task, context, settings.sample, acking && spout ? null : hooks);
                reporter = Reporter.join(fresh, settings, conf, context);
                counts = fresh;
            }
            closeIfDone();
        } catch (Throwable error) {
            giveUp(error);
        }
    }

    @Override
    public void cleanup() {
        if (reporter != null) {
            reporter.leave(task);
        }
    }

    @Override
    public void emit(EmitInfo info) {
        Counts counts = this.counts;
        if (counts != null) {
            try {
                counts.emitted(info.stream, info.values, info.outTasks, weight(), reporter.sizes);
            } catch (Throwable error) {
                giveUp(error);
            }
        }
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        if (!known) {
            know(info);
        }
        Counts counts = this.counts;
        if (counts != null && info.tuple.getSourceTask() >= 0) {
            counts.received += weight();
        }
    }

    private int weight() {
        return hooks == null ? 1 : hooks.weight();
    }

    /** The tuple of any bolt will do, Storm's own ones too. */
    private void know(BoltExecuteInfo info) {
        known = true;
        try {
            Reporter.know(context.getStormId(), context.getThisWorkerPort(), info.tuple.getContext());
        } catch (RuntimeException | LinkageError error) {
            LOG.warn("Where the worker of task {} sends tuples is not reported: {}", task, error.toString());
        }
        closeIfDone();
    }

    private void closeIfDone() {
        if (known && counts == null && hooks != null) {
            hooks.close();
        }
    }

    /** Without ackers Storm acknowledges on emit: that completes nothing. */
    @Override
    public void spoutAck(SpoutAckInfo info) {
        Counts counts = this.counts;
        if (counts != null && acking) {
            counts.acked(info.completeLatencyMs);
        }
    }

    @Override
    public void spoutFail(SpoutFailInfo info) {
        Counts counts = this.counts;
        if (counts != null) {
            counts.failed++;
        }
    }

    private void giveUp(Throwable error) {
        LOG.warn("Task {} goes on without being counted", task, error);
        known = true;
        counts = null;
        closeIfDone();
        cleanup();
    }
}
