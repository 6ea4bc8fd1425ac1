package headworks.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.scheduler.HealthTracker;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import scala.Option;
import scala.collection.Iterator;

/**
 * Gives the tasks of a scope with a placement table their hosts, in one task scheduler of Spark.
 *
 * Cluster managers have task schedulers of their own, which extend Spark's: each is extended by a class that asks here.
 */
public final class Placement {
    private static final String GROUP = "spark.jobGroup.id";
    private static final String BATCH = "streaming.sql.batchId";
    private static final String[] SCOPE = {"headworks.scope", "sql.streaming.queryId", GROUP};
    /** Stages, and scopes, of which something is remembered: if more, busy nodes are forgotten, and less is logged. */
    private static final int STAGES = 10000;

    private final TaskSchedulerImpl scheduler;
    private final ExecutorProfiles profiles;
    private final PolicyTrials trials;
    private final Map<String, BusyNodes> busy = new ConcurrentHashMap<String, BusyNodes>();
    private final Set<String> said = new HashSet<String>();
    /** Milliseconds that a setting and its text stand for. */
    private final Map<String, Long> times = new ConcurrentHashMap<String, Long>();
    /** Scopes of which nothing is placed any more. */
    private final Set<String> broken = Collections.synchronizedSet(new HashSet<String>());

    public Placement(TaskSchedulerImpl scheduler, SparkContext context) {
        this.scheduler = scheduler;
        profiles = new ExecutorProfiles(context);
        context.addSparkListener(profiles);
        trials = new PolicyTrials(context.conf());
        context.addSparkListener(trials);
        busyWait();
        hold();
        executorWait();
        PolicyChoice.announce(context.conf());
    }

    /** The tasks of a stage that has places; null if the stage is left to Spark. */
    public TaskSetManager place(TaskSet set, int maxTaskFailures) {
        String scope = null;
        try {
            scope = scope(set.properties());
            if (PlacementTable.has(scope)) {
                return broken.contains(scope) ? null : placed(set, maxTaskFailures, scope);
            }
            String policy = PolicyChoice.of(set.properties(), scheduler.conf());
            scope = PolicyTaskSet.scope(policy);
            return policy == null || broken.contains(scope) ? null : placedBy(policy, set, maxTaskFailures);
        } catch (Throwable error) {
            fail(scope, set.tasks().length, error);
            return null;
        }
    }

    /**
     * Leave a scope to Spark from now on, as something of Headworks's failed for it. Spark calls this code while all its
     * scheduling waits: what would leave it by an exception stops the jobs of the whole application.
     */
    void fail(String scope, int tasks, Throwable error) {
        if (error instanceof OutOfMemoryError) {
            throw (OutOfMemoryError) error;
        }
        broken.add(String.valueOf(scope));
        PlacementCounts.add(String.valueOf(scope), "fault", tasks);
        Faults.say("a fault inside leaves " + scope + " to Spark from now on: " + error, error);
    }

    private TaskSetManager placed(TaskSet set, int maxTaskFailures, String scope) {
        StageSignature found = StageSignature.of(scheduler.dagScheduler(), set);
        // All tasks of a barrier stage start at once or none does: to wait for places would be to wait for ever.
        String reason = set.tasks()[0].isBarrier() ? "barrier" : found.isAdaptive ? "adaptive" : "shape";
        boolean meant = PlacementTable.held(scope) || PlacementTable.fits(scope, found);
        if (reason.equals("barrier") || !meant) {
            leave(set, scope, reason, found);
            return null;
        }
        return new PlacedTaskSet(this, set, maxTaskFailures, scope, found);
    }

    /** The tasks of a stage that a policy is for; null of others, and where Spark alone is compared with it. */
    private TaskSetManager placedBy(String policy, TaskSet set, int maxTaskFailures) {
        StageSignature found = StageSignature.of(scheduler.dagScheduler(), set);
        boolean meant = !policy.equals(PlacementPolicy.EVEN_STATE) || found.keepsState;
        if (!meant || set.tasks()[0].isBarrier() || !profiles.needsCoresAlone(set.resourceProfileId())) {
            return null;
        }
        return trials.leaves(policy, set, found) ? null : new PolicyTaskSet(this, set, maxTaskFailures, policy, found);
    }

    /** Count the tasks of a set that have places and are left to Spark, and log it once for a kind of stage. */
    private void leave(TaskSet set, String scope, String reason, StageSignature found) {
        int tasks = 0;
        for (int i = 0; i < set.tasks().length; i++) {
            // Which places those of an unknown stage have is not known either.
            boolean asked = found.ordinal < 0
                || PlacementTable.host(scope, found.ordinal, set.tasks()[i].partitionId()) != null;
            tasks += asked ? 1 : 0;
        }
        if (tasks > 0) {
            PlacementCounts.add(scope, reason, tasks);
            if (said.size() < STAGES && said.add(scope + " " + reason + " " + found.ordinal + " " + found.text)) {
                scheduler.log().warn("Headworks: stage " + found.ordinal + " of scope " + scope + " is left to Spark (" + reason
                    + "): it is " + found.text + ", planned was " + planned(scope, found));
            }
        }
    }

    private static String planned(String scope, StageSignature found) {
        if (found.isAdaptive) {
            return "a stage of one job, and spark.sql.adaptive.enabled makes a job of each exchange";
        }
        return found.ordinal < 0 ? "what cannot be told, as another one ends in the same RDD"
            : PlacementTable.signature(scope, found.ordinal);
    }

    TaskSchedulerImpl scheduler() {
        return scheduler;
    }

    /** Executors on a node that Spark would offer to a task set of a resource profile, if they had a free core. */
    Set<String> executors(String node, int profile) {
        profiles.complete(scheduler);
        Set<String> found = new TreeSet<String>();
        java.util.Iterator<?> hosts = profiles.hosts(node).iterator();
        while (hosts.hasNext()) {
            find((String) hosts.next(), profile, found);
        }
        return found;
    }

    private void find(String host, int profile, Set<String> found) {
        Option<?> alive = scheduler.getExecutorsAliveOnHost(host);
        Option<?> tracker = scheduler.healthTrackerOpt();
        HealthTracker health = tracker.isDefined() ? (HealthTracker) tracker.get() : null;
        if (alive.isEmpty() || (health != null && health.isNodeExcluded(host))) {
            return;
        }
        Iterator<?> all = ((scala.collection.Iterable<?>) (Object) alive.get()).iterator();
        while (all.hasNext()) {
            String executor = (String) all.next();
            if (profiles.fits(executor, profile) && (health == null || !health.isExecutorExcluded(executor))) {
                found.add(executor);
            }
        }
    }

    /** Executors that Spark would offer to a task set if they had a free core, and the tasks that they run. */
    ExecutorLoads loads(TaskSet set) {
        profiles.complete(scheduler);
        Set<String> executors = new TreeSet<String>();
        Iterator<?> hosts = scheduler.hostToExecutors().keysIterator();
        while (hosts.hasNext()) {
            find((String) hosts.next(), set.resourceProfileId(), executors);
        }
        ExecutorLoads loads = new ExecutorLoads(executors);
        scala.collection.Map<?, ?> running = (scala.collection.Map<?, ?>) (Object) scheduler.runningTasksByExecutors();
        for (int i = 0; i < loads.ids.length; i++) {
            loads.slots[i] = profiles.slots(loads.ids[i], set.resourceProfileId());
            Option<?> tasks = ((scala.collection.Map<String, ?>) running).get(loads.ids[i]);
            loads.running[i] = tasks.isDefined() ? ((Integer) tasks.get()).intValue() : 0;
        }
        return loads;
    }

    /** The node of a host. */
    String node(String host) {
        return profiles.node(host);
    }

    /** The host of an executor; "" if it is gone. */
    String host(String executor) {
        Option<?> host = scheduler.executorIdToHost().get(executor);
        return host.isDefined() ? (String) (Object) host.get() : "";
    }

    /** All nodes that ever had an executor, except some. */
    List<String> nodesWithout(Set<String> some) {
        Set<String> found = new TreeSet<String>();
        Iterator<?> all = scheduler.hostToExecutors().keysIterator();
        while (all.hasNext()) {
            String node = node((String) all.next());
            if (!some.contains(node)) {
                found.add(node);
            }
        }
        return new ArrayList<String>(found);
    }

    /** What is known of busy nodes of a scope, for a batch, or a job of no query. */
    BusyNodes busy(String scope, TaskSet set) {
        if (busy.size() > STAGES) {
            busy.clear();
        }
        busy.putIfAbsent(scope, new BusyNodes());
        BusyNodes found = (BusyNodes) busy.get(scope);
        String batch = set.properties().getProperty(BATCH);
        found.begin(PlacementTable.table(scope), batch == null ? "job " + set.priority() : batch);
        return found;
    }

    /** Milliseconds that a task waits while its host runs no task of its stage. */
    long busyWait() {
        return time("spark.headworks.wait", "15s");
    }

    /** Milliseconds that a task of a scope that is held waits at most. */
    long hold() {
        return time("spark.headworks.hold", "10min");
    }

    /** Milliseconds that a task waits for one executor of its host before any of them will do: Spark's own setting. */
    long executorWait() {
        return time("spark.locality.wait.process", scheduler.conf().get("spark.locality.wait", "3s"));
    }

    /** Milliseconds of a setting; of one that is no time, those of what is usual, which is said once. */
    private long time(String name, String usual) {
        String text = scheduler.conf().get(name, usual);
        Long known = (Long) times.get(name + "=" + text);
        if (known == null) {
            known = Long.valueOf(parsed(name, text, usual));
            times.put(name + "=" + text, known);
        }
        return known.longValue();
    }

    private static long parsed(String name, String text, String usual) {
        try {
            return JavaUtils.timeStringAsMs(text);
        } catch (RuntimeException error) {
            Faults.say(name + " is '" + text + "', which is no time, such as 15s: " + usual + " is used", null);
            return JavaUtils.timeStringAsMs(usual);
        }
    }

    /** The scope of a job whose table is obeyed for its job group; null if there is none. */
    private static String scope(Properties properties) {
        String scope = null;
        for (int i = 0; properties != null && scope == null && i < SCOPE.length; i++) {
            scope = properties.getProperty(SCOPE[i]);
        }
        return scope != null && holds(scope, properties) ? scope : null;
    }

    /** True unless the table of a scope has lapsed, or is that of another job group. */
    static boolean holds(String scope, Properties properties) {
        return TableLease.holds(scope, properties.getProperty(GROUP));
    }
}
