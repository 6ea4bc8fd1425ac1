package headworks.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.storm.generated.SharedMemory;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.NormalizedResourceRequest;

/**
 * Whether an answer may be applied: everything that {@link Cluster#assign} takes on trust.
 *
 * One fault refuses the whole answer: whoever made it does not know this cluster. Of a worker with too much heap the
 * topology alone is refused, and stays as it is; the others have what the answer says. A worker that stays
 * as it is passes wherever it runs (its host may be blacklisted meanwhile, its heap may be Storm's own doing). Whether a
 * supervisor has the CPU and memory is the planner's matter: Storm's own EvenScheduler ignores both, so a cluster may
 * well run beyond them, and refusing would leave executors nowhere. The heap limit is checked, because Nimbus starts the
 * worker with just the heap that its executors ask for together.
 */
final class Check {
    private static final double ROUNDING = 1e-6;

    private final Cluster cluster;
    private final Map<WorkerSlot, String> tenants = new HashMap<>();
    /** Why topologies are refused alone, by id. */
    private final Map<String, String> refused = new TreeMap<>();

    private Check(Cluster cluster) {
        this.cluster = cluster;
    }

    /**
     * Check an answer to a round.
     *
     * @return what of it may be applied
     * @throws NoPlan it must not be applied; the reason names what is wrong first
     */
    static Answer check(Answer answer, Cluster cluster, String nimbus, long round) {
        require(answer.nimbus.equals(nimbus), () -> "it is for another Nimbus");
        require(answer.round == round, () -> "it is for another round");
        Check whole = new Check(cluster);
        whole.topologies(answer.topologies);
        Answer rest = answer.without(whole.refused);
        if (rest != answer) {
            new Check(cluster).topologies(rest.topologies); // slots that a refused one keeps are given to no other
        }
        return rest;
    }

    private void topologies(Map<String, List<Answer.Worker>> wanted) {
        cluster.getAssignments().forEach((id, assignment) -> {
            if (!wanted.containsKey(id)) {
                assignment.getSlots().forEach(slot -> tenants.put(slot, id));
            }
        });
        wanted.forEach((id, workers) -> {
            TopologyDetails topology = cluster.getTopologies().getById(id);
            require(topology != null, () -> "there is no topology " + id);
            topology(topology, workers);
        });
    }

    private void topology(TopologyDetails topology, List<Answer.Worker> workers) {
        Map<WorkerSlot, Set<ExecutorDetails>> running = Layout.running(cluster, topology.getId());
        Set<ExecutorDetails> placed = new HashSet<>();
        for (Answer.Worker worker : workers) {
            String tenant = tenants.put(worker.slot, topology.getId());
            require(tenant == null,
                () -> name(worker.slot) + " is given to " + tenant + " and to " + topology.getId());
            for (ExecutorDetails executor : worker.executors) {
                require(topology.getExecutors().contains(executor),
                    () -> topology.getId() + " has no executor " + executor);
                require(placed.add(executor),
                    () -> "executor " + executor + " of " + topology.getId() + " is placed twice");
            }
            if (!new HashSet<>(worker.executors).equals(running.get(worker.slot))) {
                slot(topology, worker);
                heap(topology, worker);
            }
        }
        running.values().forEach(executors -> executors.forEach(executor -> require(placed.contains(executor),
            () -> "it leaves out the running executor " + executor + " of " + topology.getId())));
        // Started in part it would lose each tuple for an executor that is nowhere: a worker drops it and goes on.
        int all = topology.getExecutors().size();
        require(!running.isEmpty() || placed.isEmpty() || placed.size() == all, () -> "it starts " + topology.getId()
            + " with " + placed.size() + " of its " + all + " executors, and a topology starts whole or not at all");
    }

    /** Whether none of its executors runs anywhere: as the last resort, such may start on a blacklisted host. */
    private boolean idle(TopologyDetails topology, Answer.Worker worker) {
        return cluster.getUnassignedExecutors(topology).containsAll(worker.executors);
    }

    private void slot(TopologyDetails topology, Answer.Worker worker) {
        WorkerSlot slot = worker.slot;
        SupervisorDetails supervisor = cluster.getSupervisorById(slot.getNodeId());
        require(supervisor != null, () -> "there is no supervisor " + slot.getNodeId());
        require(supervisor.getAllPorts().contains(slot.getPort()),
            () -> name(slot) + " is no slot that can be used");
        require(!cluster.isBlacklistedHost(supervisor.getHost()) || idle(topology, worker),
            () -> "host " + supervisor.getHost() + " is blacklisted");
    }

    private void heap(TopologyDetails topology, Answer.Worker worker) {
        Double limit = topology.getTopologyWorkerMaxHeapSize();
        double heap = heap(topology, worker.executors);
        if (limit != null && heap > limit + ROUNDING) {
            refused.put(topology.getId(), "Headworks's answer for it is refused (the worker in " + name(worker.slot)
                + " needs " + Math.round(heap) + " MB of heap, more than its limit " + limit + ")");
        }
    }

    private static double heap(TopologyDetails topology, Collection<ExecutorDetails> executors) {
        double heap = 0;
        for (ExecutorDetails executor : executors) {
            NormalizedResourceRequest request = topology.getTotalResources(executor);
            heap += request == null ? 0 : request.getOnHeapMemoryMb();
        }
        for (SharedMemory shared : topology.getSharedMemoryRequests(executors)) {
            heap += shared.get_on_heap();
        }
        return heap;
    }

    private static String name(WorkerSlot slot) {
        return slot.getNodeId() + ":" + slot.getPort();
    }

    private static void require(boolean holds, Supplier<String> otherwise) {
        if (!holds) {
            throw NoPlan.refused(otherwise.get());
        }
    }
}
