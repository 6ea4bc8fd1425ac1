package headworks.storm;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an answer leaves without a slot, placed by the scheduler that the cluster had before Headworks.
 *
 * That one may count neither CPU nor memory, and nobody is to be worse off. It gets what the answer left. Where it
 * would still leave more than without the answer, the answer took slots that others needed: then it places them all. It
 * does so first where a topology with hard constraints, which it does not know, took more slots than it would give it.
 */
final class LastResort {
    private static final Logger LOG = LoggerFactory.getLogger(LastResort.class);

    /** Setting of a topology whose tasks have seats. */
    static final String SEATS = "headworks.seats";
    /** Settings of topologies that need more slots than the scheduler before gives them: hard constraints, and seats. */
    private static final List<String> MORE = List.of("topology.ras.constraints", "topology.spread.components",
        "topology.ras.one.executor.per.worker", "topology.ras.one.component.per.worker", SEATS);

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
        placed = orElse(placed, this::instead);
        placed = orElse(placed, this::first);
        others().forEach((id, workers) -> {
            if (!Layout.running(cluster, id).equals(Layout.wanted(workers))) {
                said.put(id, "waits: for its constraints or seats it needs slots that others would have without Headworks");
            }
        });
        return placed;
    }

    /** What is placed in another way, where that leaves fewer executors out. */
    private Map<String, Integer> orElse(Map<String, Integer> placed, Function<Cluster, Map<String, Integer>> way) {
        int left = waiting(cluster);
        Cluster copy = new Cluster(before);
        try {
            Map<String, Integer> other = left == 0 ? placed : way.apply(copy);
            if (left == 0 || waiting(copy) >= left) {
                return placed;
            }
            cluster.updateFrom(copy);
            said.keySet().removeAll(answer.lastResort);
            return other;
        } catch (RuntimeException taken) {
            LOG.warn("The answer stands, with {} executors without a slot: {}", left, taken.toString());
            return placed; // without the rest of the answer, another part of it may have no slot to go to
        }
    }

    /** Place all of these topologies without the answer. */
    private Map<String, Integer> instead(Cluster copy) {
        Apply.apply(others(), copy);
        return fallback.place(copy, answer.lastResort);
    }

    /** The same before topologies that the answer gives slots to, as important ones at most; then these, where it can be. */
    private Map<String, Integer> first(Cluster copy) {
        Map<String, List<Answer.Worker>> later = others();
        later.keySet().removeIf(id -> !isLate(copy.getTopologies().getById(id), copy));
        Map<String, List<Answer.Worker>> sooner = others();
        sooner.keySet().removeAll(later.keySet());
        Apply.apply(sooner, copy);
        Map<String, Integer> placed = fallback.placeAmongAll(copy, answer.lastResort);
        later.forEach((id, workers) -> {
            Cluster with = new Cluster(copy);
            try {
                Apply.apply(Map.of(id, workers), with);
            } catch (RuntimeException taken) {
                LOG.info("{} waits: {}", id, taken.toString());
                return;
            }
            if (beyond(with) <= beyond(copy)) { // it was planned for room that is taken now
                copy.updateFrom(with);
            }
        });
        return placed;
    }

    private static long beyond(Cluster cluster) {
        return cluster.getSupervisors().values().stream().filter(each -> !Room.beyond(cluster, each).isEmpty()).count();
    }

    /** Whether a topology needs more slots than others, waits, and is as important at most as one that would have no slot. */
    private boolean isLate(TopologyDetails topology, Cluster copy) {
        boolean more = MORE.stream().map(topology.getConf()::get).anyMatch(each -> each != null && !Boolean.FALSE.equals(each));
        return more && !copy.getUnassignedExecutors(topology).isEmpty() && cluster.getTopologies().getTopologies().stream()
            .filter(each -> answer.lastResort.contains(each.getId()) && !cluster.getUnassignedExecutors(each).isEmpty())
            .anyMatch(each -> SnapshotTopology.priority(each) <= SnapshotTopology.priority(topology));
    }

    /** The answer for the other topologies. */
    private Map<String, List<Answer.Worker>> others() {
        Map<String, List<Answer.Worker>> others = new TreeMap<>(answer.topologies);
        others.keySet().removeAll(answer.lastResort);
        return others;
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
