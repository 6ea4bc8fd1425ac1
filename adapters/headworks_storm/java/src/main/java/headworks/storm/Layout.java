package headworks.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;

/** Which executors a topology has in which slot; sets, because their order means nothing to a worker. */
final class Layout {
    private Layout() {
    }

    /** What runs now. */
    static Map<WorkerSlot, Set<ExecutorDetails>> running(Cluster cluster, String topology) {
        Map<WorkerSlot, Set<ExecutorDetails>> layout = new HashMap<>();
        SchedulerAssignment assignment = cluster.getAssignmentById(topology);
        if (assignment != null) {
            assignment.getExecutorToSlot().forEach(
                (executor, slot) -> layout.computeIfAbsent(slot, key -> new HashSet<>()).add(executor));
        }
        return layout;
    }

    /** What an answer wants. */
    static Map<WorkerSlot, Set<ExecutorDetails>> wanted(Collection<Answer.Worker> workers) {
        Map<WorkerSlot, Set<ExecutorDetails>> layout = new HashMap<>();
        workers.forEach(worker -> layout.put(worker.slot, new HashSet<>(worker.executors)));
        return layout;
    }
}
