package headworks.storm;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Carries out a checked answer with the fewest restarts: a slot that keeps its executors is not touched.
 *
 * Supervisors restart a worker whenever its set of executors differs, so every slot that changes is freed first, in all
 * topologies, and assigned after that.
 */
final class Apply {
    private Apply() {
    }

    /**
     * Make topologies look as an answer says, on a copy that replaces the cluster at the end.
     *
     * @param topologies all workers of each, by id
     * @return how many workers start anew
     */
    static int apply(Map<String, List<Answer.Worker>> topologies, Cluster cluster) {
        Map<String, Map<WorkerSlot, Set<ExecutorDetails>>> changes = new HashMap<>();
        Cluster copy = new Cluster(cluster);
        topologies.forEach((topology, workers) -> changes.put(topology, free(copy, topology, workers)));
        changes.forEach((topology, slots) -> slots.forEach(
            (slot, executors) -> copy.assign(slot, topology, executors)));
        int started = changes.values().stream().mapToInt(Map::size).sum();
        if (started > 0) {
            Restore.unlessDone(cluster, () -> cluster.updateFrom(copy));
        }
        return started;
    }

    /** Free the slots of a topology that change, and return those to assign. */
    private static Map<WorkerSlot, Set<ExecutorDetails>> free(
            Cluster copy, String topology, List<Answer.Worker> workers) {
        Map<WorkerSlot, Set<ExecutorDetails>> wanted = Layout.wanted(workers);
        Layout.running(copy, topology).forEach((slot, executors) -> {
            if (!wanted.remove(slot, executors)) {
                copy.freeSlot(slot);
            }
        });
        return wanted;
    }
}
