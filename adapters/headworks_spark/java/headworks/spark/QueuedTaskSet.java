package headworks.spark;

import java.util.Iterator;
import java.util.Set;
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
 * The tasks of one attempt of a stage, of which some wait in a queue of their own; Spark's queues, and its delay
 * scheduling, have the others alone.
 *
 * Nothing is thrown into Spark: where something fails here, all tasks are Spark's from then on.
 */
abstract class QueuedTaskSet extends TaskSetManager {
    /** Milliseconds between two looks at all tasks that wait: if larger, a bound is noticed later. */
    static final long REVIEW = 200;

    /** Null while the constructor of the superclass runs. */
    final Placement placement;
    final String scope;
    final WaitingTasks waiting = new WaitingTasks();
    /** True once something failed here. */
    boolean off = false;
    private long reviewed = 0;

    QueuedTaskSet(Placement placement, TaskSet set, int maxTaskFailures, String scope) {
        super(placement.scheduler(), set, maxTaskFailures, placement.scheduler().healthTrackerOpt(), new SystemClock());
        this.placement = placement;
        this.scope = scope;
    }

    /** Queue a task, first or again; false if it is Spark's. */
    abstract boolean await(int index);

    /** A task that waits for an executor, which is taken from those that wait; -1 if none does. */
    abstract int waited(String executor, String host);

    /** Leave to Spark what waits for nobody, for too long, or is asked for no more. */
    abstract void look(long now);

    /** A task of this set runs, or ran until now. */
    abstract void runs(TaskInfo task, long now);

    /** Queue all tasks, at the end of the constructor: backwards, as Spark does, whose queues are taken from at their end. */
    final void begin() {
        for (int i = numTasks() - 1; i >= 0; i--) {
            addPendingTask(i, true, false);
        }
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

    /** Leave a task that waits to Spark; whoever calls lets Spark look at its queues anew. */
    final void leave(int index) {
        waiting.remove(index);
        super.addPendingTask(index, true, false);
    }

    /** Let Spark look at its queues anew. */
    final void renew() {
        super.recomputeLocality();
    }

    /** Spark asks for its own queues alone. */
    public boolean isSchedulable() {
        return super.isSchedulable() || (!off && !isZombie() && !waiting.isEmpty());
    }

    /** Leave all tasks that have to run yet to Spark, which passes over those that are in its queues twice. */
    final void fail(Throwable error) {
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
            if (!speculative && !off && !waiting.isEmpty()) {
                lookAfter(REVIEW);
                index = waited(executor, host);
            }
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

    /** Asked when nothing was launched: Spark ends a stage that nobody may run, if its tasks are in Spark's queues. */
    public Option<Object> getCompletelyExcludedTaskIfAny(
            scala.collection.mutable.HashMap<String, scala.collection.mutable.HashSet<String>> executors) {
        review(REVIEW);
        return super.getCompletelyExcludedTaskIfAny(executors);
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

    /** Called when an executor comes, goes, or is about to go. */
    public void recomputeLocality() {
        super.recomputeLocality();
        if (placement != null) {
            review(0);
        }
    }

    final void review(long interval) {
        try {
            lookAfter(interval);
        } catch (Throwable error) {
            fail(error);
        }
    }

    /** Look at what waits, once in so many milliseconds. The clock stands where a task of this set runs. */
    private void lookAfter(long interval) {
        long now = now();
        if (off || waiting.isEmpty() || isZombie() || now - reviewed < interval) {
            return;
        }
        reviewed = now;
        scala.collection.Iterator<?> all =
            ((scala.collection.Iterable<?>) (Object) runningTasksSet()).iterator();
        while (all.hasNext()) {
            serve(all.next(), now);
        }
        look(now);
    }

    private void serve(Object id, long now) {
        Option<?> info = taskInfos().get(id);
        if (info.isDefined()) {
            runs((TaskInfo) info.get(), now);
        }
    }

    /** The first task of a queue that an executor may run, which is taken from those that wait; -1 if there is none. */
    final int take(Set<Integer> queue, String executor) {
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

    /** True if Spark's excludeOnFailure keeps a task, or this whole set, from an executor. */
    final boolean isExcluded(int index, String executor) {
        Option<?> helper = taskSetExcludelistHelperOpt();
        if (helper.isEmpty()) {
            return false;
        }
        TaskSetExcludelist list = (TaskSetExcludelist) helper.get();
        String host = placement.host(executor);
        return list.isNodeExcludedForTaskSet(host) || list.isExecutorExcludedForTaskSet(executor)
            || list.isNodeExcludedForTask(host, index) || list.isExecutorExcludedForTask(executor, index);
    }

    static long now() {
        return System.nanoTime() / 1000000;
    }
}
