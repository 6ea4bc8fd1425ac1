package headworks.spark;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.scheduler.ExecutorCacheTaskLocation;
import org.apache.spark.scheduler.TaskInfo;
import org.apache.spark.scheduler.TaskSet;
import scala.collection.Iterator;

/**
 * The tasks of one attempt of a stage that are placed by a policy, each on an executor. A task goes to Spark when its
 * executor is gone, and when that ran no task of this stage for longer than the bound; a task that runs again, too.
 *
 * `binpack` and `balance` fill slots that are free: if others took one meanwhile, tasks that wait are placed anew.
 */
final class PolicyTaskSet extends QueuedTaskSet {
    private final String policy;
    private final StageSignature found;
    /** Executors of tasks that were not queued yet. */
    private final Map<Integer, String> places = new HashMap<Integer, String>();
    /** When an executor last took a task of this set, or ran one. */
    private final Map<String, Long> served = new HashMap<String, Long>();

    PolicyTaskSet(Placement placement, TaskSet set, int maxTaskFailures, String policy, StageSignature found) {
        super(placement, set, maxTaskFailures, scope(policy));
        this.policy = policy;
        this.found = found;
        int[] all = new int[numTasks()];
        int count = 0;
        for (int i = 0; i < numTasks(); i++) {
            if (keeps() || !isNear(i)) {
                all[count++] = i;
            }
        }
        place(Arrays.copyOf(all, count), placement.loads(set));
        begin();
    }

    /** What faults and counts of a policy are noted for. */
    static String scope(String policy) {
        return "policy " + policy;
    }

    private boolean keeps() {
        return policy.equals(PlacementPolicy.EVEN_STATE);
    }

    /** True if a task is to run where a block is cached, or near a file that it reads. */
    private boolean isNear(int index) {
        Iterator<?> all = ((scala.collection.Iterable<?>) (Object) tasks()[index].preferredLocations()).iterator();
        boolean near = false;
        while (all.hasNext()) {
            near |= all.next() instanceof ExecutorCacheTaskLocation || found.isSource;
        }
        return near;
    }

    private void place(int[] indices, ExecutorLoads loads) {
        int[] was = new int[indices.length];
        TreeSet<String> executors = new TreeSet<String>(Arrays.asList(loads.ids));
        for (int i = 0; i < indices.length; i++) {
            was[i] = loads.of(ExecutorChoice.holder(tasks()[indices[i]], executors));
        }
        int[] chosen = PlacementPolicy.places(policy, was, loads.slots, loads.running);
        for (int i = 0; i < indices.length; i++) {
            if (chosen[i] >= 0) {
                places.put(Integer.valueOf(indices[i]), loads.ids[chosen[i]]);
            }
        }
    }

    boolean await(int index) {
        String executor = (String) places.remove(Integer.valueOf(index));
        if (executor != null) {
            waiting.add(index, Collections.<String>emptyList(), executor, now());
        }
        return executor != null;
    }

    int waited(String executor, String host) {
        int index = take(waiting.on(executor), executor);
        if (index >= 0) {
            served.put(executor, Long.valueOf(now()));
            PlacementMetrics.placed();
        }
        return index;
    }

    void runs(TaskInfo task, long now) {
        served.put(task.executorId(), Long.valueOf(now));
    }

    void look(long now) {
        ExecutorLoads loads = placement.loads(taskSet());
        int[] all = waiting.indices();
        if (!keeps()) {
            place(all, loads);
        }
        int left = 0;
        for (int i = 0; i < all.length; i++) {
            String executor = keeps() ? waiting.executor(all[i]) : (String) places.remove(Integer.valueOf(all[i]));
            if (executor == null || loads.of(executor) < 0 || now - waitsSince(all[i]) >= bound()) {
                leave(all[i]);
                left++;
            } else {
                waiting.add(all[i], Collections.<String>emptyList(), executor, waiting.since(all[i]));
            }
        }
        if (left > 0) {
            renew();
            PlacementCounts.add(scope, "busy", left);
        }
    }

    /** Milliseconds that a task waits: state may wait for a busy executor, a free slot that is not to be had need not. */
    private long bound() {
        return keeps() ? placement.busyWait() : placement.executorWait();
    }

    /** The later of: the task was queued, its executor ran a task of this stage. */
    private long waitsSince(int index) {
        Long ran = (Long) served.get(waiting.executor(index));
        return Math.max(waiting.since(index), ran == null ? 0 : ran.longValue());
    }
}
