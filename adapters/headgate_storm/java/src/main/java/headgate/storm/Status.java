package headgate.storm;

import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;

/** The sentence that `storm list` and the UI show for a topology. Set only when it changes: Nimbus logs every call. */
final class Status {
    private static final String OURS = "Headgate";

    private Status() {
    }

    /** After a plan: what it says about a topology itself, else the count of executors and workers. */
    static void planned(Cluster cluster, Map<String, String> said) {
        for (TopologyDetails topology : cluster.getTopologies()) {
            String text = said.get(topology.getId());
            set(cluster, topology, text != null ? text : OURS + ": " + count(cluster, topology));
        }
    }

    /** Without a plan: why, and what became of executors without a slot. */
    static void held(Cluster cluster, String why, String standIn, Map<String, Integer> placed) {
        for (TopologyDetails topology : cluster.getTopologies()) {
            int added = placed.getOrDefault(topology.getId(), 0);
            int waiting = cluster.getUnassignedExecutors(topology).size();
            set(cluster, topology, why + "; running executors are held"
                + (added == 0 ? "" : "; Storm's " + standIn + " placed " + executors(added, "unassigned "))
                + (waiting == 0 ? "" : "; no slot for " + executors(waiting, "")));
        }
    }

    /** Before Storm's own scheduler acts alone: take back what was said in its place. */
    static void clear(Cluster cluster) {
        cluster.getStatusMap().values().removeIf(text -> text.startsWith(OURS));
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

    private static void set(Cluster cluster, TopologyDetails topology, String text) {
        if (!text.equals(cluster.getStatusMap().get(topology.getId()))) {
            cluster.setStatus(topology, text);
        }
    }
}
