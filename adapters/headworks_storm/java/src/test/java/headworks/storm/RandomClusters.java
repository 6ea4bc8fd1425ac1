package headworks.storm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.scheduler.resource.normalization.NormalizedResources;

/** Random clusters on which topologies run, have lost executors with a supervisor, or are new; many are full. */
public final class RandomClusters {
    private static final String GPU = "gpu.count";
    /** Bolts of a topology that a node may have, where it says so. */
    private static final int MOST = 2;
    private static final String RULES = "topology.ras.constraints";
    private static final String SEATS = "headworks.seats";
    private static final String ALONE = "topology.ras.one.executor.per.worker";
    private static final String PURE = "topology.ras.one.component.per.worker";
    private static final List<Map<String, Object>> HARD = List.of(Map.of(ALONE, true), Map.of(PURE, true),
        Map.of(RULES, Map.of("bolt-0", Map.of("maxNodeCoLocationCnt", MOST, "incompatibleComponents", List.of()))),
        Map.of(RULES, Map.of("spout-0", Map.of("incompatibleComponents", List.of("bolt-0")))));

    private RandomClusters() {
    }

    /** Settings of their Nimbus. */
    public static Map<String, Object> conf() {
        return Clusters.conf();
    }

    /**
     * A cluster by its number, where Storm's even scheduler placed what runs; some topologies declare a hard constraint, and
     * tasks of the first one may have seats.
     */
    public static Cluster cluster(long seed) {
        Random dice = new Random(seed);
        List<TopologyDetails> topologies = topologies(dice);
        topologies.replaceAll(each ->
            dice.nextInt(4) > 0 ? each : Clusters.saying(each, HARD.get(dice.nextInt(HARD.size()))));
        topologies.set(0, isHard(topologies.get(0)) ? topologies.get(0) : seated(topologies.get(0)));
        return cluster(dice, topologies, new EvenScheduler());
    }

    /** With a seat of each task in each worker, if the number of bolts allows it. */
    private static TopologyDetails seated(TopologyDetails topology) {
        int workers = topology.getNumWorkers();
        int bolts = topology.getExecutorToComponent().size() / 2;
        Map<String, Object> tasks = Map.of("bolt-0", Map.of("tasks", bolts / workers));
        return bolts % workers > 0 ? topology
            : Clusters.saying(topology, Map.of(SEATS, Map.of("workers", workers, "components", tasks)));
    }

    /** Topologies whose tasks have seats, and that wait for slots while others of their executors run. */
    public static int robbed(Cluster cluster) {
        return (int) cluster.getTopologies().getTopologies().stream().filter(each -> each.getConf().containsKey(SEATS)
            && !cluster.getUnassignedExecutors(each).isEmpty() && cluster.getAssignmentById(each.getId()) != null).count();
    }

    private static boolean isHard(TopologyDetails topology) {
        return topology.getConf().containsKey(RULES) || says(topology, ALONE) || says(topology, PURE);
    }

    /** The topologies that declare a hard constraint, and whether what is placed of each keeps it. */
    public static Map<String, Boolean> kept(Cluster cluster) {
        Map<String, Boolean> kept = new TreeMap<>();
        for (TopologyDetails topology : cluster.getTopologies()) {
            if (isHard(topology)) {
                kept.put(topology.getId(), kept(cluster, topology));
            }
        }
        return kept;
    }

    private static boolean kept(Cluster cluster, TopologyDetails topology) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topology.getId());
        if (assignment == null) {
            return true;
        }
        Map<?, ?> rules = (Map<?, ?>) topology.getConf().getOrDefault(RULES, Map.of());
        boolean alone = says(topology, ALONE);
        boolean apart = says(topology, PURE) || rules.containsKey("spout-0");
        Map<String, Integer> bolts = new HashMap<>();
        assignment.getExecutorToSlot().forEach((executor, slot) -> bolts.merge(slot.getNodeId(),
            topology.getComponentFromExecutor(executor).equals("bolt-0") ? 1 : 0, Integer::sum));
        return assignment.getSlotToExecutors().values().stream().allMatch(worker -> (!alone || worker.size() == 1)
                && (!apart || worker.stream().map(topology::getComponentFromExecutor).distinct().count() == 1))
            && (!rules.containsKey("bolt-0") || bolts.values().stream().allMatch(count -> count <= MOST));
    }

    /**
     * A cluster where the resource-aware scheduler placed what runs. Executors of some topologies share memory, and those of
     * some ask for a resource of which only some supervisors have any.
     */
    public static Cluster sharing(long seed) {
        Random dice = new Random(seed);
        List<TopologyDetails> topologies = topologies(dice);
        topologies.replaceAll(each -> dice.nextBoolean() ? each : Clusters.sharing(each, 64, 64.0 * dice.nextInt(3), 128));
        topologies.replaceAll(each -> dice.nextBoolean() ? each : Clusters.asking(each, GPU, 1 + dice.nextInt(2)));
        return cluster(dice, topologies, resourceAware());
    }

    /** Executors that run and ask for the resource of which only some supervisors have any. */
    public static int asking(Cluster cluster) {
        return cluster.getAssignments().values().stream().mapToInt(assignment -> (int) assignment.getExecutors().stream()
            .filter(each -> asks(cluster.getTopologies().getById(assignment.getTopologyId()), each)).count()).sum();
    }

    private static boolean asks(TopologyDetails topology, ExecutorDetails executor) {
        return topology.getTotalResources(executor).toNormalizedMap().getOrDefault(GPU, 0.0) > 0;
    }

    private static boolean says(TopologyDetails topology, String key) {
        return Boolean.TRUE.equals(topology.getConf().get(key));
    }

    private static IScheduler resourceAware() {
        ResourceAwareScheduler scheduler = new ResourceAwareScheduler();
        scheduler.prepare(Clusters.conf(), new StormMetricsRegistry());
        return scheduler;
    }

    private static List<TopologyDetails> topologies(Random dice) {
        List<TopologyDetails> topologies = new ArrayList<>();
        for (int i = 0; i <= dice.nextInt(5); i++) {
            topologies.add(Clusters.topology("t" + i, 1 + dice.nextInt(12), 1 + dice.nextInt(4)));
        }
        return topologies;
    }

    private static Cluster cluster(Random dice, List<TopologyDetails> topologies, IScheduler scheduler) {
        Map<String, SupervisorDetails> supervisors = supervisors(dice);
        int running = dice.nextInt(topologies.size() + 1);
        Cluster before = made(supervisors, Map.of(), topologies.subList(0, running));
        scheduler.schedule(before.getTopologies(), before);
        Map<String, SchedulerAssignment> stay = new HashMap<>();
        if (supervisors.size() > 1 && dice.nextInt(3) > 0) {
            String lost = supervisors.keySet().iterator().next();
            supervisors.remove(lost);
            before.getUsedSlots().stream().filter(slot -> slot.getNodeId().equals(lost)).forEach(before::freeSlot);
        }
        before.getAssignments().forEach((id, assignment) -> {
            if (!assignment.getExecutorToSlot().isEmpty()) {
                stay.put(id, assignment);
            }
        });
        return made(supervisors, stay, topologies);
    }

    private static Map<String, SupervisorDetails> supervisors(Random dice) {
        Map<String, SupervisorDetails> supervisors = new TreeMap<>();
        for (int i = 0; i <= dice.nextInt(5); i++) {
            List<Integer> ports = new ArrayList<>();
            for (int port = 0; port <= dice.nextInt(4); port++) {
                ports.add(6700 + port);
            }
            Map<String, Double> resources = Map.of(
                Config.SUPERVISOR_CPU_CAPACITY, 50.0 * (1 + dice.nextInt(8)),
                Config.SUPERVISOR_MEMORY_CAPACITY_MB, 512.0 * (1 + dice.nextInt(8)),
                GPU, i % 2 == 0 ? 8.0 : 0.0);
            supervisors.put("s" + i, new SupervisorDetails("s" + i, "h" + i, null, ports,
                NormalizedResources.RESOURCE_NAME_NORMALIZER.normalizedResourceMap(resources)));
        }
        return supervisors;
    }

    private static Cluster made(Map<String, SupervisorDetails> supervisors,
            Map<String, SchedulerAssignment> assignments, List<TopologyDetails> topologies) {
        return Clusters.cluster(new HashMap<>(supervisors), new HashMap<>(assignments),
            topologies.toArray(new TopologyDetails[0]));
    }

    /** The same cluster after a round in which nobody plans: what runs stays, the stand-in places the rest. */
    public static Cluster alone(Cluster cluster) {
        return alone(cluster, new EvenScheduler());
    }

    /** The same where the resource-aware scheduler is the stand-in. */
    public static Cluster aloneByResources(Cluster cluster) {
        return alone(cluster, resourceAware());
    }

    private static Cluster alone(Cluster cluster, IScheduler standIn) {
        Cluster copy = new Cluster(cluster);
        new Fallback(standIn).place(copy);
        return copy;
    }

    /** Executors without a slot, by topology. */
    public static Map<String, Integer> waiting(Cluster cluster) {
        Map<String, Integer> waiting = new TreeMap<>();
        Topologies topologies = cluster.getTopologies();
        topologies.forEach(each -> waiting.put(each.getId(), cluster.getUnassignedExecutors(each).size()));
        return waiting;
    }

    /** The tasks of each worker, by topology and slot. */
    public static Map<String, String> layout(Cluster cluster) {
        Map<String, String> layout = new TreeMap<>();
        Clusters.layout(cluster).forEach((topology, workers) ->
            workers.forEach((slot, tasks) -> layout.put(topology + " " + slot, tasks.toString())));
        return layout;
    }

    /** Supervisors on which more is scheduled than they declare. */
    public static int beyond(Cluster cluster) {
        return (int) cluster.getSupervisors().values().stream()
            .filter(each -> !Room.beyond(cluster, each).isEmpty()).count();
    }
}
