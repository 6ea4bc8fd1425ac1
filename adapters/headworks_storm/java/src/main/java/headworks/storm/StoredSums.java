package headworks.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.storm.cluster.ClusterStateContext;
import org.apache.storm.cluster.ClusterUtils;
import org.apache.storm.cluster.DaemonType;
import org.apache.storm.cluster.IStormClusterState;
import org.apache.storm.generated.Assignment;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Reads what a Nimbus stored in ZooKeeper of the resources of workers, this one or the leader before it. A thread of its own
 * does, one at a time, for ZooKeeper is waited for as long as Storm's settings say, and a round is not.
 */
final class StoredSums implements WorkerSums.Stored {
    /** Seconds that a round waits for ZooKeeper. */
    private static final long PATIENCE = 5;

    private final Map<String, Object> conf;
    private Thread thread;

    StoredSums(Map<String, Object> conf) {
        this.conf = conf;
    }

    @Override
    public Map<String, Map<WorkerSlot, WorkerSums.Sum>> of(Collection<String> topologies) throws Exception {
        if (thread != null && thread.isAlive()) {
            throw new IllegalStateException("ZooKeeper has not answered yet");
        }
        FutureTask<Map<String, Map<WorkerSlot, WorkerSums.Sum>>> reading = new FutureTask<>(() -> read(topologies));
        thread = new Thread(reading, "headworks-stored-sums");
        thread.setDaemon(true);
        thread.start();
        return reading.get(PATIENCE, TimeUnit.SECONDS);
    }

    /** The sums by topology and slot; topologies without an assignment are left out. */
    private Map<String, Map<WorkerSlot, WorkerSums.Sum>> read(Collection<String> topologies) throws Exception {
        IStormClusterState state = ClusterUtils.mkStormClusterState(conf, new ClusterStateContext(DaemonType.NIMBUS, conf));
        try {
            Map<String, Map<WorkerSlot, WorkerSums.Sum>> found = new HashMap<>();
            for (String topology : topologies) {
                Assignment assignment = state.remoteAssignmentInfo(topology, null);
                if (assignment != null) {
                    found.put(topology, sums(assignment));
                }
            }
            return found;
        } finally {
            state.disconnect();
        }
    }

    private static Map<WorkerSlot, WorkerSums.Sum> sums(Assignment assignment) {
        Map<WorkerSlot, Set<ExecutorDetails>> executors = new HashMap<>();
        for (Map.Entry<List<Long>, NodeInfo> each : assignment.get_executor_node_port().entrySet()) {
            ExecutorDetails executor = new ExecutorDetails(each.getKey().get(0).intValue(), each.getKey().get(1).intValue());
            executors.computeIfAbsent(slot(each.getValue()), key -> new HashSet<>()).add(executor);
        }
        Map<WorkerSlot, WorkerSums.Sum> sums = new HashMap<>();
        assignment.get_worker_resources().forEach((node, resources) -> sums.put(
            slot(node), new WorkerSums.Sum(executors.getOrDefault(slot(node), Set.of()), resources)));
        return sums;
    }

    private static WorkerSlot slot(NodeInfo node) {
        return new WorkerSlot(node.get_node(), node.get_port().iterator().next());
    }
}
