package headworks.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.ExecutorCacheTaskLocation;
import org.apache.spark.scheduler.Task;

/**
 * Which of several executors of its node a task is for: the one that Spark knows to hold its state or its cached
 * block, else, of a stage that keeps state, the one that has the fewest tasks of the set.
 *
 * A partition of state that changes its executor is loaded from the checkpoint again, on the same node too.
 */
final class ExecutorChoice {
    private final Map<String, Integer> tasks = new HashMap<String, Integer>();

    /** The executor among some that Spark prefers for a task; null if there is none. */
    static String holder(Task<?> task, Set<String> executors) {
        scala.collection.Iterator<?> all =
            ((scala.collection.Iterable<?>) (Object) task.preferredLocations()).iterator();
        while (all.hasNext()) {
            Object each = all.next();
            if (each instanceof ExecutorCacheTaskLocation) {
                ExecutorCacheTaskLocation location = (ExecutorCacheTaskLocation) each;
                if (executors.contains(location.executorId())) {
                    return location.executorId();
                }
            }
        }
        return null;
    }

    /** Count a task for an executor. */
    void take(String executor) {
        tasks.put(executor, Integer.valueOf(count(executor) + 1));
    }

    /** The executor with the fewest tasks, of several the first by id: the same for the same set of executors. */
    String fewest(Set<String> executors) {
        String found = null;
        Iterator<?> all = executors.iterator();
        while (all.hasNext()) {
            String each = (String) all.next();
            found = found == null || count(each) < count(found) ? each : found;
        }
        return found;
    }

    private int count(String executor) {
        Integer count = (Integer) tasks.get(executor);
        return count == null ? 0 : count.intValue();
    }
}
