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
import org.apache.spark.scheduler.TaskSet;
import scala.Enumeration;

/**
 * The tasks of one attempt of a placed stage. Those with a place wait for their hosts. Of several executors of its host a
 * task with state, or with a cached block, waits for one at first; any other takes the first that is free.
 *
 * A task leaves that queue for Spark's when no executor that may run it is left on its host, and when its host ran no
 * task of this stage for longer than the bound. A task that failed on its host waits for any other one. While the
 * scope is held, tasks wait for no host, until they have a place, are left to Spark, or waited for long enough.
 */
final class PlacedTaskSet extends QueuedTaskSet {
    private final StageSignature found;
    private final int stage;
    private final Map<Integer, Set<String>> failedOn = new HashMap<Integer, Set<String>>();
    /** When a host last ran a task of this set, and when an executor took one. */
    private final Map<String, Long> served = new HashMap<String, Long>();
    private final BusyNodes busy;
    private final ExecutorChoice choice = new ExecutorChoice();
    /** Executors of a host that may run tasks of this set, as asked last; once for all tasks that are queued at first. */
    private final Map<String, Set<String>> usable = new HashMap<String, Set<String>>();
    private final boolean begun;
    private final Set<String> said = new HashSet<String>();

    PlacedTaskSet(Placement placement, TaskSet set, int maxTaskFailures, String scope, StageSignature found) {
        super(placement, set, maxTaskFailures, scope);
        this.found = found;
        this.stage = found.ordinal;
        this.busy = placement.busy(scope, set);
        countHolders();
        begin();
        begun = true;
    }

    int waited(String executor, String host) {
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

    void runs(TaskInfo task, long now) {
        served.put(placement.node(task.host()), Long.valueOf(now));
    }

    /** Queue a task for its place; false if it has none, or nobody there may run it. */
    boolean await(int index) {
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

    void look(long now) {
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
                    note((String) waiting.hosts(all[i]).get(0));
                }
                leave(all[i]);
            } else if (waiting.executor(all[i]) != null && isOverdue(all[i], now)) {
                waiting.add(all[i], waiting.hosts(all[i]), null, waiting.since(all[i]));
            }
        }
        say("gone", gone, "lost the last executor that may run them, left to Spark");
        say("busy", late, "waited " + bound + " ms for busy nodes (spark.headworks.wait), left to Spark");
        if (taken || gone + late + let > 0) {
            renew();
        }
    }

    /** Note that a node is busy in this batch, and log it if it is left from now on. */
    private void note(String node) {
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
        say("held", held ? 1 : 0, "waited " + placement.hold() + " ms without any node (spark.headworks.hold), left to Spark");
        if (held || !await(index)) {
            leave(index);
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

    /** Count tasks that do not run where asked, and log the first of each kind. */
    private void say(String reason, int tasks, String what) {
        if (tasks > 0) {
            PlacementCounts.add(scope, reason, tasks);
            if (said.add(reason)) {
                log().warn("Headworks: in " + name() + " of scope " + scope + ": " + tasks + " placed task(s) " + what);
            }
        }
    }
}
