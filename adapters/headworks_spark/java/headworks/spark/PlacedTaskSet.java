package headworks.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskLocality$;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetExcludelist;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import scala.Enumeration;
import scala.Option;
import scala.Tuple3;

/**
 * The tasks of one attempt of a placed stage. Those with a place wait in a queue of their own, each for its host;
 * Spark's queues, and its delay scheduling, have the others alone. Of several executors of its host a task with state,
 * or with a cached block, waits for one at first; any other takes the first that is free.
 *
 * A task leaves that queue for Spark's when no executor that may run it is left on its host, and when its host ran no
 * task of this stage for longer than the bound. A task that failed on its host waits for any other one. While the
 * scope is held, tasks wait for no host, until they have a place, are left to Spark, or waited for long enough.
 *
 * Nothing is thrown into Spark: where something fails here, all tasks are Spark's from then on.
 */
final class PlacedTaskSet extends TaskSetManager {
    /** Milliseconds between two looks at all tasks that wait: if larger, a bound is noticed later. */
    private static final long REVIEW = 200;

    /** Null while the constructor of the superclass runs. */
    private final Placement placement;
    private final String scope;
    private final StageSignature found;
    private final int stage;
    private final WaitingTasks waiting = new WaitingTasks();
    private final Map<Integer, Set<String>> failedOn = new HashMap<Integer, Set<String>>();
    /** When a host last ran a task of this set, and when an executor took one. */
    private final Map<String, Long> served = new HashMap<String, Long>();
    private final BusyNodes busy;
    private final ExecutorChoice choice = new ExecutorChoice();
    /** Executors of a host that may run tasks of this set, as asked last; once for all tasks that are queued at first. */
    private final Map<String, Set<String>> usable = new HashMap<String, Set<String>>();
    private final boolean begun;
    /** True once something failed here. */
    private boolean off = false;
    private final Set<String> said = new HashSet<String>();
    private long reviewed = 0;

    PlacedTaskSet(Placement placement, TaskSet set, int maxTaskFailures, String scope, StageSignature found) {
        super(placement.scheduler(), set, maxTaskFailures, placement.scheduler().healthTrackerOpt(), new SystemClock());
        this.placement = placement;
        this.scope = scope;
        this.found = found;
        this.stage = found.ordinal;
        this.busy = placement.busy(scope, set);
        countHolders();
        // Backwards, as Spark does: its queues are taken from at their end.
        for (int i = numTasks() - 1; i >= 0; i--) {
            addPendingTask(i, true, false);
        }
        begun = true;
        super.recomputeLocality();
    }

    /** Called for every task at first, and again when it has to run again: its place may have changed since. */
    public void addPendingTask(int index, boolean resolveRacks, boolean speculatable) {
        if (placement == null) {
            return;
        }
        boolean waits = false;
        try {
            waits = !off && !speculatable && await(index);
        } catch (Throwable error) {
            fail(error);
        }
        if (!waits) {
            super.addPendingTask(index, resolveRacks, speculatable);
        }
    }

    /** Spark asks for its own queues alone. */
    public boolean isSchedulable() {
        return super.isSchedulable() || (!off && !isZombie() && !waiting.isEmpty());
    }

    /** Leave all tasks that have to run yet to Spark, which passes over those that are in its queues twice. */
    private void fail(Throwable error) {
        off = true;
        int left = 0;
        for (int i = numTasks() - 1; i >= 0; i--) {
            if (!successful()[i] && copiesRunning()[i] == 0) {
                super.addPendingTask(i, true, false);
                left++;
            }
        }
        super.recomputeLocality();
        placement.fail(scope, left, error);
    }

    /** The next task for a free core: one that waits for it, else what Spark would run there. */
    public Option<Tuple3<Object, Enumeration.Value, Object>> dequeueTaskHelper(
            String executor, String host, Enumeration.Value level, boolean speculative) {
        int index = -1;
        try {
            index = speculative || off || waiting.isEmpty() ? -1 : waited(executor, host);
        } catch (Throwable error) {
            fail(error);
        }
        if (index < 0) {
            return super.dequeueTaskHelper(executor, host, level, speculative);
        }
        Object found = new Tuple3<Object, Enumeration.Value, Object>(
            Integer.valueOf(index), TaskLocality$.MODULE$.NODE_LOCAL(), Boolean.FALSE);
        return (Option<Tuple3<Object, Enumeration.Value, Object>>) (Object) Option.apply(found);
    }

    /** A task that waits for an executor, which is taken from those that wait; -1 if none does. */
    private int waited(String executor, String host) {
        look(REVIEW);
        String node = placement.node(host);
        int index = take(executor, node);
        if (index >= 0) {
            served.put(node, Long.valueOf(now()));
            served.put("executor " + executor, Long.valueOf(now()));
            // One that failed where it was asked for waits for any other node.
            if (node.equals(PlacementTable.host(scope, stage, tasks()[index].partitionId()))) {
                PlacementMetrics.placed();
            }
        }
        return index;
    }

    /** Asked when nothing was launched: Spark ends a stage that nobody may run, if its tasks are in Spark's queues. */
    public Option<Object> getCompletelyExcludedTaskIfAny(
            scala.collection.mutable.HashMap<String, scala.collection.mutable.HashSet<String>> executors) {
        review(REVIEW);
        return super.getCompletelyExcludedTaskIfAny(executors);
    }

    public void handleFailedTask(long id, Enumeration.Value state, TaskFailedReason reason) {
        try {
            note(id, reason);
        } catch (Throwable error) {
            fail(error);
        }
        super.handleFailedTask(id, state, reason);
        // What a failure excludes may be what other tasks wait for.
        review(0);
    }

    /** Remember on which node a task failed. */
    private void note(long id, TaskFailedReason reason) {
        TaskInfo info = (TaskInfo) (Object) taskInfos().apply((Object) Long.valueOf(id));
        if (reason.countTowardsTaskFailures()) {
            Integer index = Integer.valueOf(info.index());
            if (!failedOn.containsKey(index)) {
                failedOn.put(index, new HashSet<String>());
            }
            ((Set<String>) failedOn.get(index)).add(placement.node(info.host()));
        }
    }

    /** Called as soon as a task has ended, before its core is offered again. */
    public void removeRunningTask(long id) {
        super.removeRunningTask(id);
        try {
            serve(Long.valueOf(id), now());
        } catch (Throwable error) {
            fail(error);
        }
    }

    /** The clock of what waits for a node stands while a task of this set runs there. */
    private void serve(long now) {
        scala.collection.Iterator<?> all =
            ((scala.collection.Iterable<?>) (Object) runningTasksSet()).iterator();
        while (all.hasNext()) {
            serve(all.next(), now);
        }
    }

    private void serve(Object id, long now) {
        Option<?> info = taskInfos().get(id);
        if (info.isDefined()) {
            served.put(placement.node(((TaskInfo) info.get()).host()), Long.valueOf(now));
        }
    }

    /** Called when an executor comes, goes, or is about to go. */
    public void recomputeLocality() {
        super.recomputeLocality();
        if (placement != null) {
            review(0);
        }
    }

    /** Queue a task for its place; false if it has none, or nobody there may run it. */
    private boolean await(int index) {
        if (held() && !isZombie()) {
            waiting.add(index, Collections.<String>emptyList(), null, now());
            return true;
        }
        // The scope may have been held when this set was made, and so any stage was taken.
        String asked = PlacementTable.fits(scope, found)
            ? PlacementTable.host(scope, stage, tasks()[index].partitionId()) : null;
        if (asked == null || isZombie()) {
            return false;
        }
        Set<String> failed = (Set<String>) failedOn.get(Integer.valueOf(index));
        if (busy.isLeft(asked)) {
            PlacementCounts.add(scope, "crowded:" + asked, 1);
            return false;
        }
        List<String> hosts = Collections.singletonList(asked);
        if (failed != null && failed.contains(asked)) {
            say("failed", 1, "failed on " + asked + ", tried elsewhere");
            hosts = placement.nodesWithout(failed);
        }
        if (begun) {
            usable.clear();
        }
        if (!mayRun(index, hosts)) {
            say("gone", 1, "found no executor that may run it on " + hosts + ", left to Spark");
            return false;
        }
        waiting.add(index, hosts, hosts.contains(asked) ? executor(index, asked) : null, now());
        return true;
    }

    /** The one executor of its host that a task is for; null if any will do, or there is only one. */
    private String executor(int index, String host) {
        Set<String> executors = new TreeSet<String>();
        Iterator<?> all = usable(host).iterator();
        while (all.hasNext()) {
            String each = (String) all.next();
            if (!isExcluded(index, each)) {
                executors.add(each);
            }
        }
        if (executors.size() < 2) {
            return null;
        }
        String holder = ExecutorChoice.holder(tasks()[index], executors);
        if (holder == null && found.keepsState) {
            holder = choice.fewest(executors);
            choice.take(holder);
        }
        return holder;
    }

    /** Count the tasks with an executor that holds something of theirs, before the others are spread. */
    private void countHolders() {
        for (int i = 0; i < numTasks(); i++) {
            String host = PlacementTable.host(scope, stage, tasks()[i].partitionId());
            String holder = host == null ? null
                : ExecutorChoice.holder(tasks()[i], usable(host));
            if (holder != null) {
                choice.take(holder);
            }
        }
    }

    private int take(String executor, String node) {
        int index = take(waiting.on(executor), executor);
        return index >= 0 ? index : take(waiting.onHost(node), executor);
    }

    private int take(Set<Integer> queue, String executor) {
        Iterator<?> all = queue.iterator();
        while (all.hasNext()) {
            int index = ((Integer) all.next()).intValue();
            if (!isExcluded(index, executor)) {
                waiting.remove(index);
                // Another attempt at the stage may have had its result meanwhile.
                return successful()[index] || copiesRunning()[index] > 0 ? take(queue, executor) : index;
            }
        }
        return -1;
    }

    private void review(long interval) {
        try {
            look(interval);
        } catch (Throwable error) {
            fail(error);
        }
    }

    /** Leave to Spark what waits for nobody, for too long, or is asked for no more; once in so many milliseconds. */
    private void look(long interval) {
        long now = now();
        if (off || waiting.isEmpty() || isZombie() || now - reviewed < interval) {
            return;
        }
        reviewed = now;
        serve(now);
        long bound = placement.busyWait();
        usable.clear();
        // Holds first: it takes away a table that has lapsed.
        boolean taken = !Placement.holds(scope, taskSet().properties()) || !PlacementTable.has(scope);
        int gone = 0;
        int late = 0;
        int let = 0;
        int[] all = waiting.indices();
        for (int i = 0; i < all.length; i++) {
            if (waiting.hosts(all[i]).isEmpty()) {
                let += letGo(all[i], now) ? 1 : 0;
                continue;
            }
            boolean alive = mayRun(all[i], waiting.hosts(all[i]));
            if (taken || !alive || now - waitsSince(all[i]) >= bound) {
                gone += taken || alive ? 0 : 1;
                late += !taken && alive ? 1 : 0;
                if (!taken && alive && waiting.hosts(all[i]).size() == 1) {
                    leave((String) waiting.hosts(all[i]).get(0));
                }
                waiting.remove(all[i]);
                super.addPendingTask(all[i], true, false);
            } else if (waiting.executor(all[i]) != null && isOverdue(all[i], now)) {
                waiting.add(all[i], waiting.hosts(all[i]), null, waiting.since(all[i]));
            }
        }
        say("gone", gone, "lost the last executor that may run them, left to Spark");
        say("busy", late, "waited " + bound + " ms for busy nodes (spark.headworks.wait), left to Spark");
        if (taken || gone + late + let > 0) {
            super.recomputeLocality();
        }
    }

    /** Note that a node is busy in this batch, and log it if it is left from now on. */
    private void leave(String node) {
        if (busy.add(node)) {
            log().warn("Headworks: others keep " + node + " busy in batch after batch of scope " + scope
                + ": its tasks are left to Spark at once, until other places are asked for");
        }
    }

    /** True while the scope is to wait, and whoever said so renews that. */
    private boolean held() {
        return PlacementTable.held(scope) && Placement.holds(scope, taskSet().properties());
    }

    /** Queue a task that was held, if it is no more, or for too long; false if it waits on. */
    private boolean letGo(int index, long now) {
        boolean held = held();
        if (held && now - waiting.since(index) < placement.hold()) {
            return false;
        }
        waiting.remove(index);
        say("held", held ? 1 : 0, "waited " + placement.hold() + " ms without any node (spark.headworks.hold), left to Spark");
        if (held || !await(index)) {
            super.addPendingTask(index, true, false);
        }
        return true;
    }

    /** True if the executor of a task is gone, or took no task of this stage for as long as Spark waits for one. */
    private boolean isOverdue(int index, long now) {
        String executor = waiting.executor(index);
        String host = (String) waiting.hosts(index).get(0);
        Long launched = (Long) served.get("executor " + executor);
        long since = Math.max(waiting.since(index), launched == null ? 0 : launched.longValue());
        return !usable(host).contains(executor) || isExcluded(index, executor)
            || now - since >= placement.executorWait();
    }

    /** The latest of: the task was queued, one of its hosts ran a task of this stage. */
    private long waitsSince(int index) {
        long since = waiting.since(index);
        List<String> hosts = waiting.hosts(index);
        for (int i = 0; i < hosts.size(); i++) {
            Long ran = (Long) served.get(hosts.get(i));
            since = ran == null ? since : Math.max(since, ran.longValue());
        }
        return since;
    }

    /** True if an executor on one of the hosts may run a task. */
    private boolean mayRun(int index, List<String> hosts) {
        for (int i = 0; i < hosts.size(); i++) {
            String host = (String) hosts.get(i);
            Iterator<?> executors = usable(host).iterator();
            while (executors.hasNext()) {
                if (!isExcluded(index, (String) executors.next())) {
                    return true;
                }
            }
        }
        return false;
    }

    private Set<String> usable(String host) {
        if (!usable.containsKey(host)) {
            usable.put(host, placement.executors(host, taskSet().resourceProfileId()));
        }
        return (Set<String>) usable.get(host);
    }

    /** True if Spark's excludeOnFailure keeps a task, or this whole set, from an executor. */
    private boolean isExcluded(int index, String executor) {
        Option<?> helper = taskSetExcludelistHelperOpt();
        if (helper.isEmpty()) {
            return false;
        }
        TaskSetExcludelist list = (TaskSetExcludelist) helper.get();
        String host = placement.host(executor);
        return list.isNodeExcludedForTaskSet(host) || list.isExecutorExcludedForTaskSet(executor)
            || list.isNodeExcludedForTask(host, index) || list.isExecutorExcludedForTask(executor, index);
    }

    /** Count tasks that do not run where asked, and log the first of each kind. */
    private void say(String reason, int tasks, String what) {
        if (tasks > 0) {
            PlacementCounts.add(scope, reason, tasks);
            if (said.add(reason)) {
                log().warn("Headworks: in " + name() + " of scope " + scope + ": " + tasks + " placed task(s) " + what);
            }
        }
    }

    private static long now() {
        return System.nanoTime() / 1000000;
    }
}
