package headworks.spark;

import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.TaskResourceRequest;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.scheduler.cluster.ExecutorInfo;
import scala.Option;

/**
 * What executors told of themselves when they came: their resource profile, as Spark offers an executor to the task sets
 * of its own profile alone, and their node, where its name is not their host, as with the address of a pod.
 *
 * Spark's bus drops events where there are too many: of an executor that it told nothing of, the backend is asked.
 */
final class ExecutorProfiles extends SparkListener {
    private final SparkContext context;
    private final Map<String, Integer> profiles = new ConcurrentHashMap<String, Integer>();
    private final Map<String, Integer> cores = new ConcurrentHashMap<String, Integer>();
    /** Attribute of an executor: `SPARK_EXECUTOR_ATTRIBUTE_NODE` in its environment. */
    private static final String NODE = "NODE";
    private final Map<String, String> nodes = new ConcurrentHashMap<String, String>();
    private final Map<String, Set<String>> hosts = new ConcurrentHashMap<String, Set<String>>();

    ExecutorProfiles(SparkContext context) {
        this.context = context;
    }

    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        note(event.executorId(), event.executorInfo());
    }

    private void note(String executor, ExecutorInfo info) {
        profiles.put(executor, Integer.valueOf(info.resourceProfileId()));
        cores.put(executor, Integer.valueOf(info.totalCores()));
        Option<?> node = info.attributes().get(NODE);
        if (node.isDefined()) {
            locate(info.executorHost(), (String) (Object) node.get());
        }
    }

    /** Ask the backend for what is not known of the executors of a scheduler. Whoever calls has the scheduler's lock. */
    void complete(TaskSchedulerImpl scheduler) {
        scala.collection.Iterator<?> all = scheduler.executorIdToHost().keysIterator();
        while (all.hasNext()) {
            String executor = (String) all.next();
            if (!profiles.containsKey(executor) && scheduler.backend() instanceof CoarseGrainedSchedulerBackend) {
                ask((CoarseGrainedSchedulerBackend) scheduler.backend(), executor);
            }
        }
    }

    private void ask(CoarseGrainedSchedulerBackend backend, String executor) {
        synchronized (backend) {
            Option<?> known =
                backend.org$apache$spark$scheduler$cluster$CoarseGrainedSchedulerBackend$$executorDataMap().get(executor);
            if (known.isDefined()) {
                note(executor, (ExecutorInfo) (Object) known.get());
            }
        }
    }

    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        profiles.remove(event.executorId());
        cores.remove(event.executorId());
    }

    /** Note the node of a host; an address that another node has now is that one's alone. */
    private void locate(String host, String node) {
        String before = (String) nodes.put(host, node);
        if (node.equals(before)) {
            return;
        }
        if (before != null) {
            hosts.put(before, with(before, host, false));
        }
        hosts.put(node, with(node, host, true));
    }

    /** A copy of the hosts of a node, which others may be reading, with one or without it. */
    private Set<String> with(String node, String host, boolean there) {
        Set<String> known = (Set<String>) hosts.get(node);
        Set<String> found = known == null ? new HashSet<String>() : new HashSet<String>(known);
        found.remove(host);
        if (there) {
            found.add(host);
        }
        return found;
    }

    /** The node of a host: itself, unless its executors told another name. */
    String node(String host) {
        String node = (String) nodes.get(host);
        return node == null ? host : node;
    }

    /** The hosts of a node, the one of that name among them. */
    Set<String> hosts(String node) {
        Set<String> found = (Set<String>) hosts.get(node);
        return found == null ? Collections.singleton(node) : found;
    }

    /** True if tasks of a profile can run on an executor, and while nothing is known of it. */
    boolean fits(String executor, int profile) {
        Integer own = (Integer) profiles.get(executor);
        return own == null || context.resourceProfileManager().canBeScheduled(profile, own.intValue());
    }

    /** Tasks of a profile that an executor can run at once; 0 while nothing is known of it. */
    int slots(String executor, int profile) {
        Integer own = (Integer) cores.get(executor);
        TaskResourceRequest cpus = (TaskResourceRequest) (Object) resources(profile).get(ResourceProfile.CPUS());
        double each = cpus == null ? Double.parseDouble(context.conf().get("spark.task.cpus", "1")) : cpus.amount();
        // Newer versions allow a part of a core.
        return own == null ? 0 : (int) (own.intValue() / each + 1e-6);
    }

    /** True if tasks of a profile need nothing but cores, such as no GPU. */
    boolean needsCoresAlone(int profile) {
        Map<?, ?> resources = resources(profile);
        return resources.size() == (resources.containsKey(ResourceProfile.CPUS()) ? 1 : 0);
    }

    private Map<?, ?> resources(int profile) {
        return context.resourceProfileManager().resourceProfileFromId(profile).taskResourcesJMap();
    }
}
