package headworks.storm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.Constants;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** What supervisors declare beside what Storm counts on them. */
final class Room {
    private static final double ROUNDING = 1e-6;
    /** Resources that each executor asks for; the others are those that an operator has named. */
    private static final Set<String> OF_ALL = Set.of(Constants.COMMON_CPU_RESOURCE_NAME,
        Constants.COMMON_ONHEAP_MEMORY_RESOURCE_NAME, Constants.COMMON_OFFHEAP_MEMORY_RESOURCE_NAME,
        Constants.COMMON_TOTAL_MEMORY_RESOURCE_NAME);

    private Room() {
    }

    /** Hosts of a topology on which more is scheduled than they declare, each with the amounts; empty if there is none. */
    static String beyond(Cluster cluster, TopologyDetails topology) {
        Set<String> hosts = new TreeSet<>();
        SchedulerAssignment assignment = cluster.getAssignmentById(topology.getId());
        for (WorkerSlot slot : assignment == null ? Collections.<WorkerSlot>emptySet() : assignment.getSlots()) {
            SupervisorDetails supervisor = cluster.getSupervisorById(slot.getNodeId());
            String over = supervisor == null ? "" : beyond(cluster, supervisor);
            if (!over.isEmpty()) {
                hosts.add(supervisor.getHost() + " (" + over + ")");
            }
        }
        return String.join(", ", hosts);
    }

    /**
     * What Storm counts on a supervisor beside what executors ask for each: memory that they share, and CPU that a worker
     * reserves. By Storm's names; empty if there is none.
     */
    static Map<String, Double> beside(Cluster cluster, SupervisorDetails supervisor) {
        String id = supervisor.getId();
        double memory = cluster.getScheduledMemoryForNode(id);
        double cpu = cluster.getScheduledCpuForNode(id);
        for (SchedulerAssignment assignment : cluster.getAssignments().values()) {
            TopologyDetails topology = cluster.getTopologies().getById(assignment.getTopologyId());
            for (Map.Entry<ExecutorDetails, WorkerSlot> each : assignment.getExecutorToSlot().entrySet()) {
                if (topology != null && each.getValue().getNodeId().equals(id) && topology.hasExecInTopo(each.getKey())) {
                    memory -= topology.getTotalMemReqTask(each.getKey());
                    cpu -= topology.getTotalCpuReqTask(each.getKey());
                }
            }
        }
        Map<String, Double> found = new TreeMap<>();
        add(found, Constants.COMMON_TOTAL_MEMORY_RESOURCE_NAME, memory);
        add(found, Constants.COMMON_CPU_RESOURCE_NAME, cpu);
        return found;
    }

    private static void add(Map<String, Double> amounts, String name, double amount) {
        if (amount > ROUNDING) {
            amounts.put(name, amount);
        }
    }

    /** By how much more is scheduled on a supervisor than it declares, empty if it is not. */
    static String beyond(Cluster cluster, SupervisorDetails supervisor) {
        String id = supervisor.getId();
        List<String> found = new ArrayList<>();
        double memory = cluster.getScheduledMemoryForNode(id);
        if (memory > supervisor.getTotalMemory() + ROUNDING) {
            found.add(Math.round(memory) + " of " + Math.round(supervisor.getTotalMemory()) + " MB");
        }
        double cpu = cluster.getScheduledCpuForNode(id);
        if (cpu > supervisor.getTotalCpu() + ROUNDING) {
            found.add(Math.round(cpu) + " of " + Math.round(supervisor.getTotalCpu()) + " points");
        }
        Map<String, Double> offered = supervisor.getTotalResources().toNormalizedMap();
        new TreeMap<>(cluster.getAllScheduledResourcesForNode(id).toNormalizedMap()).forEach((name, amount) -> {
            double most = offered.getOrDefault(name, 0.0);
            if (!OF_ALL.contains(name) && amount > most + ROUNDING) {
                found.add(amount + " of " + most + " " + name);
            }
        });
        return String.join(", ", found);
    }
}
