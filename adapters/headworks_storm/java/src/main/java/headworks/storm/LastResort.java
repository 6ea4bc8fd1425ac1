package headworks.storm;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an answer leaves without a slot, placed by the scheduler that the cluster had before Headworks.
 *
 * That one may count neither CPU nor memory, and nobody is to be worse off. It gets what the answer left. Where it
 * would still leave more than without the answer, the answer took slots that others needed: then it places them all.
 */
final class LastResort {
    private static final Logger LOG = LoggerFactory.getLogger(LastResort.class);

    private final Fallback fallback;
    private final Answer answer;
    private final Cluster cluster;
    private final Cluster before;
    /** What the answer says of each topology, as far as it is carried out. */
    private final Map<String, String> said;

    /** Take the cluster before the answer is applied. */
    LastResort(Fallback fallback, Answer answer, Cluster cluster) {
        this.fallback = fallback;
        this.answer = answer;
        this.cluster = cluster;
        this.said = new HashMap<>(answer.status);
        this.before = answer.lastResort.isEmpty() ? cluster : new Cluster(cluster);
    }

    /**
     * Place what the answer left, after it was applied.
     *
     * @return how many executors were placed, by topology
     */
    Map<String, Integer> place() {
        if (answer.lastResort.isEmpty()) {
            return Map.of();
        }
        Map<String, Integer> placed = fallback.place(cluster, answer.lastResort);
        int left = waiting(cluster);
        if (left == 0) {
            return placed;
        }
        try {
            return instead(placed, left);
        } catch (RuntimeException taken) {
            LOG.warn("The answer stands, with {} executors without a slot: {}", left, taken.toString());
            return placed; // without the rest of the answer, another part of it may have no slot to go to
        }
    }

    /** Place all of these topologies without the answer, where that leaves fewer executors out. */
    private Map<String, Integer> instead(Map<String, Integer> placed, int left) {
        Map<String, List<Answer.Worker>> others = new HashMap<>(answer.topologies);
        others.keySet().removeAll(answer.lastResort);
        Apply.apply(others, before);
        Map<String, Integer> alone = fallback.place(before, answer.lastResort);
        if (waiting(before) >= left) {
            return placed;
        }
        cluster.updateFrom(before);
        said.keySet().removeAll(answer.lastResort);
        return alone;
    }

    /** What is to be said of each topology, by its id, after {@link #place}. */
    Map<String, String> said() {
        return said;
    }

    private int waiting(Cluster cluster) {
        int count = 0;
        for (TopologyDetails topology : cluster.getTopologies()) {
            count += answer.lastResort.contains(topology.getId()) ? cluster.getUnassignedExecutors(topology).size() : 0;
        }
        return count;
    }
}
