package headworks.storm;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;

/**
 * The sentence that `storm list` and the UI show for a topology. Set only when it changes: Nimbus logs every call.
 *
 * Nimbus keeps the sentences in its memory alone, and merges those of a round into those that it has. So one that is
 * removed stays, and what is kept here is all that Headworks ever said to this Nimbus.
 */
final class Status {
    /** Characters of a sentence. With more, what a scheduler says takes Nimbus's heap, its log and every reply of its. */
    private static final int LONGEST = 1000;

    private final Map<String, String> said = new HashMap<>();
    /** Topologies with executors that were placed by slots alone, and may be on hosts that are full. */
    private final Set<String> resorted = new HashSet<>();

    /**
     * After a plan: what it says about a topology itself, else the count of executors and workers.
     *
     * @param placed how many executors without a slot the stand-in placed after the plan, by topology
     */
    void planned(Cluster cluster, Map<String, String> answered, String standIn, Map<String, Integer> placed) {
        for (TopologyDetails topology : cluster.getTopologies()) {
            String id = topology.getId();
            int added = placed.getOrDefault(id, 0);
            String text = added > 0 ? null : answered.get(id);
            String plain = text != null ? text : "Headworks: " + count(cluster, topology);
            set(cluster, topology, plain
                + (added == 0 ? "" : "; Storm's " + standIn + " placed " + executors(added, "") + " by slots alone")
                + beyond(cluster, topology, added));
        }
    }

    /** Hosts with more than they declare, of a topology that the stand-in placed executors of, or whose seats go by slots. */
    private String beyond(Cluster cluster, TopologyDetails topology, int added) {
        if (added == 0 && !resorted.contains(topology.getId()) && !topology.getConf().containsKey(LastResort.SEATS)) {
            return "";
        }
        String hosts = Room.beyond(cluster, topology);
        if (hosts.isEmpty()) {
            resorted.remove(topology.getId());
            return "";
        }
        resorted.add(topology.getId());
        return "; beyond what is declared of " + hosts;
    }

    /** Without a plan: why, and what became of executors without a slot. */
    void held(Cluster cluster, String why, String standIn, Map<String, Integer> placed) {
        for (TopologyDetails topology : cluster.getTopologies()) {
            int added = placed.getOrDefault(topology.getId(), 0);
            int waiting = cluster.getUnassignedExecutors(topology).size();
            set(cluster, topology, why + "; running executors are held"
                + (added == 0 ? "" : "; Storm's " + standIn + " placed " + executors(added, "unassigned "))
                + (waiting == 0 ? "" : "; no slot for " + executors(waiting, "")));
        }
    }

    /** Before Storm's own scheduler acts alone: take back what was said in its place. */
    void clear(Cluster cluster) {
        for (TopologyDetails topology : cluster.getTopologies()) {
            String ours = said.remove(topology.getId());
            if (ours != null && ours.equals(cluster.getStatusMap().get(topology.getId()))) {
                cluster.setStatus(topology, "");
            }
        }
        said.clear();
        resorted.clear();
    }

    private static String count(Cluster cluster, TopologyDetails topology) {
        int waiting = cluster.getUnassignedExecutors(topology).size();
        int workers = cluster.getAssignedNumWorkers(topology);
        return executors(topology.getExecutors().size() - waiting, "") + " on " + workers
            + (workers == 1 ? " worker" : " workers") + (waiting == 0 ? "" : ", no slot for " + waiting);
    }

    private static String executors(int number, String kind) {
        return number + " " + kind + (number == 1 ? "executor" : "executors");
    }

    private void set(Cluster cluster, TopologyDetails topology, String sentence) {
        String text = Line.of(sentence, LONGEST);
        said.put(topology.getId(), text);
        if (!text.equals(cluster.getStatusMap().get(topology.getId()))) {
            cluster.setStatus(topology, text);
        }
    }
}
