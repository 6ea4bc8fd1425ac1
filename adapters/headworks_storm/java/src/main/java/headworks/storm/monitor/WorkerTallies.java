package headworks.storm.monitor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.task.WorkerTopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tallies of a worker whose components are wrapped and tell themselves what they do. Storm's task hooks are not needed,
 * for which Storm makes an object at each emission, execution and acknowledgement. A worker that cannot count goes on uncounted.
 */
public final class WorkerTallies implements AutoCloseable {
    /** Key of the configuration of a topology whose components are wrapped. */
    static final String COUNTED = "headworks.seats";
    private static final String ACKER = "__acker";
    private static final Logger LOG = LoggerFactory.getLogger(WorkerTallies.class);

    private final Map<Integer, Tally> tallies = new HashMap<>();
    private final List<Integer> tasks = new ArrayList<>();
    private Reporter reporter;

    /**
     * Report from now on on all tasks of a worker, if its configuration names a collector: on Storm's own without counts.
     *
     * @param conf of the worker
     * @param context of the worker
     */
    public WorkerTallies(Map<String, Object> conf, WorkerTopologyContext context) {
        try {
            Settings settings = Settings.of(conf);
            if (settings != null) {
                join(settings, conf, context);
            }
        } catch (RuntimeException | LinkageError error) {
            LOG.warn("The tasks of {} go on without being counted", context.getStormId(), error);
            tallies.clear();
        }
    }

    private void join(Settings settings, Map<String, Object> conf, WorkerTopologyContext context) {
        List<Integer> ackers = context.getComponentTasks(ACKER);
        for (int task : context.getThisWorkerTasks()) {
            if (task >= 0) {
                tasks.add(task);
                Counts counts = new Counts(task, context, settings.sample, null);
                reporter = Reporter.join(counts, settings, conf, context);
                if (!Counts.isSystem(context.getComponentId(task))) {
                    tallies.put(task, new Tally(counts, reporter.sizes, ackers));
                }
            }
        }
    }

    /** The tally of a task, null if nobody asks for it. */
    public Tally of(int task) {
        return tallies.get(task);
    }

    /**
     * Take Headworks's task hook out of the configuration of a worker, before its tasks are made.
     *
     * @param conf of the worker, which is changed
     */
    public static void unhook(Map<String, Object> conf) {
        Object named = conf.get(Config.TOPOLOGY_AUTO_TASK_HOOKS);
        if (named instanceof List) {
            List<Object> others = new ArrayList<>((List<?>) named);
            others.remove(TaskHook.class.getName());
            conf.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, others);
        }
    }

    @Override
    public void close() {
        tasks.forEach(task -> reporter.leave(task));
    }
}
