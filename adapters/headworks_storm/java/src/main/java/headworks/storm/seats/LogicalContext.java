package headworks.storm.seats;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.WorkerTopologyContext;

/** The context of a worker as it would be without seats; what is not of tasks is asked of the real one. */
final class LogicalContext extends WorkerTopologyContext {
    private final SeatWorker worker;
    private final WorkerTopologyContext physical;

    LogicalContext(SeatWorker worker, StormTopology system, Map<String, Object> conf, WorkerTopologyContext physical) {
        super(system, conf, worker.components, worker.tasks, worker.fields, physical.getStormId(), physical.getCodeDir(),
            physical.getPIDDir(), physical.getThisWorkerPort(), physical.getThisWorkerTasks(), Map.of(), Map.of());
        this.worker = worker;
        this.physical = physical;
    }

    @Override
    public List<Integer> getThisWorkerTasks() {
        return worker.here(physical.getThisWorkerTasks());
    }

    @Override
    public String getAssignmentId() {
        return physical.getAssignmentId();
    }

    @Override
    public AtomicReference<Map<Integer, NodeInfo>> getTaskToNodePort() {
        AtomicReference<Map<Integer, NodeInfo>> real = physical.getTaskToNodePort();
        if (real == null || real.get() == null) {
            return real;
        }
        Map<Integer, NodeInfo> places = new HashMap<>();
        for (int plain : worker.components.keySet()) {
            NodeInfo place = real.get().get(worker.physical(plain));
            if (place != null) {
                places.put(plain, place);
            }
        }
        return new AtomicReference<>(places);
    }

    @Override
    public AtomicReference<Map<String, String>> getNodeToHost() {
        return physical.getNodeToHost();
    }

    @Override
    public Object getResource(String name) {
        return physical.getResource(name);
    }

    @Override
    public ExecutorService getSharedExecutor() {
        return physical.getSharedExecutor();
    }
}
