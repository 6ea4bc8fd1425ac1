package headworks.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happens without a plan: whatever runs stays, and Storm's own scheduler places the executors that have no slot.
 *
 * It acts on a copy, and only what it adds is taken over: workers in slots that are free, of executors that had none,
 * and of a topology of which nothing runs all of them or none. So neither its evictions nor its rearrangements reach
 * the cluster, nor halves of what it evicted others for.
 */
final class Fallback {
    private static final Logger LOG = LoggerFactory.getLogger(Fallback.class);

    private final IScheduler scheduler;

    Fallback(IScheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Name of the scheduler that acts. */
    String name() {
        return scheduler.getClass().getSimpleName();
    }

    /**
     * Place executors that have no slot.
     *
     * @return how many were placed, by topology
     */
    Map<String, Integer> place(Cluster cluster) {
        Map<String, Set<ExecutorDetails>> unassigned = unassigned(cluster);
        return place(cluster, unassigned, unassigned.keySet());
    }

    /** The same for some topologies alone; the others keep what they have and get no more. */
    Map<String, Integer> place(Cluster cluster, Set<String> topologies) {
        Map<String, Set<ExecutorDetails>> unassigned = unassigned(cluster);
        unassigned.keySet().retainAll(topologies);
        return place(cluster, unassigned, unassigned.keySet());
    }

    /** The same where that scheduler places all that waits, as without Headworks; what it gives to others is left free. */
    Map<String, Integer> placeAmongAll(Cluster cluster, Set<String> topologies) {
        Map<String, Set<ExecutorDetails>> unassigned = unassigned(cluster);
        Set<String> waiting = Set.copyOf(unassigned.keySet());
        unassigned.keySet().retainAll(topologies);
        return place(cluster, unassigned, waiting);
    }

    private Map<String, Integer> place(Cluster cluster, Map<String, Set<ExecutorDetails>> unassigned, Set<String> waiting) {
        Map<String, Integer> placed = new HashMap<>();
        if (!unassigned.isEmpty()) {
            Cluster copy = scheduled(cluster, waiting);
            Set<String> full = evicted(cluster, copy);
            unassigned.forEach((topology, executors) ->
                placed.put(topology, adopt(cluster, copy, topology, executors, full)));
        }
        return placed;
    }

    /** Supervisors that run topologies which the scheduler has evicted whole: these stay, and their room was given to others. */
    private static Set<String> evicted(Cluster cluster, Cluster copy) {
        Set<String> nodes = new HashSet<>();
        for (TopologyDetails topology : cluster.getTopologies()) {
            if (Layout.running(copy, topology.getId()).isEmpty()) {
                Layout.running(cluster, topology.getId()).keySet().forEach(slot -> nodes.add(slot.getNodeId()));
            }
        }
        return nodes;
    }

    private static Map<String, Set<ExecutorDetails>> unassigned(Cluster cluster) {
        Map<String, Set<ExecutorDetails>> unassigned = new HashMap<>();
        for (TopologyDetails topology : cluster.getTopologies()) {
            Collection<ExecutorDetails> executors = cluster.getUnassignedExecutors(topology);
            if (!executors.isEmpty()) {
                unassigned.put(topology.getId(), new HashSet<>(executors));
            }
        }
        return unassigned;
    }

    private Cluster scheduled(Cluster cluster, Set<String> waiting) {
        Cluster copy = new Cluster(cluster, withRoom(cluster, waiting));
        try {
            scheduler.schedule(copy.getTopologies(), copy);
            return copy;
        } catch (Throwable e) {
            LOG.error("{} failed; executors without a slot wait", name(), e);
            return cluster;
        }
    }

    /**
     * The topologies, allowed one worker more than they have where executors wait; others that wait as if they did not.
     *
     * A plan may use more workers than `topology.workers`. Storm's even scheduler then gives the topology no slot at
     * all when it loses one of them, or fails for every topology.
     */
    private static Topologies withRoom(Cluster cluster, Set<String> waiting) {
        Map<String, TopologyDetails> topologies = new HashMap<>();
        for (TopologyDetails topology : cluster.getTopologies()) {
            String id = topology.getId();
            int workers = Math.max(topology.getNumWorkers(), cluster.getAssignedNumWorkers(topology) + 1);
            if (waiting.contains(id)) {
                topologies.put(id, with(topology, workers, topology.getExecutorToComponent()));
            } else if (cluster.getUnassignedExecutors(topology).isEmpty()) {
                topologies.put(id, topology);
            } else {
                Map<ExecutorDetails, String> running = new HashMap<>(topology.getExecutorToComponent());
                running.keySet().removeAll(cluster.getUnassignedExecutors(topology));
                topologies.put(id, with(topology, topology.getNumWorkers(), running));
            }
        }
        return new Topologies(topologies);
    }

    private static TopologyDetails with(TopologyDetails topology, int workers, Map<ExecutorDetails, String> executors) {
        return new TopologyDetails(topology.getId(), topology.getConf(), topology.getTopology(), workers,
            executors, topology.getLaunchTime(), topology.getTopologySubmitter());
    }

    private static int adopt(Cluster cluster, Cluster copy, String topology, Set<ExecutorDetails> unassigned, Set<String> full) {
        Map<WorkerSlot, Set<ExecutorDetails>> added = Layout.running(copy, topology);
        added.entrySet().removeIf(worker -> !unassigned.containsAll(worker.getValue())
            || cluster.isSlotOccupied(worker.getKey()) || full.contains(worker.getKey().getNodeId()));
        int placed = added.values().stream().mapToInt(Set::size).sum();
        // The rest may be in slots of workers that were to be evicted for it. In part it would lose tuples.
        boolean fresh = unassigned.size() == cluster.getTopologies().getById(topology).getExecutors().size();
        if (fresh && placed < unassigned.size()) {
            return 0;
        }
        added.forEach((slot, executors) -> cluster.assign(slot, topology, executors));
        return placed;
    }
}
