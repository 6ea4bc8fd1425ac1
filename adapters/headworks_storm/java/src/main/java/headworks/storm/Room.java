package headworks.storm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** What supervisors declare beside what Storm counts on them. */
final class Room {
    private static final double ROUNDING = 1e-6;

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
        return String.join(", ", found);
    }
}
