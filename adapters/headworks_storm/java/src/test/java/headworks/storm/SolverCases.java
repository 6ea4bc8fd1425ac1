package headworks.storm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.DaemonConfig;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.scheduler.resource.TestUtilsForResourceAwareScheduler;
import org.apache.storm.scheduler.resource.strategies.scheduling.ConstraintSolverStrategy;
import org.apache.storm.scheduler.resource.strategies.scheduling.TestConstraintSolverStrategy;
import org.apache.storm.utils.Utils;

/** Clusters and topologies of Storm's `TestConstraintSolverStrategy`, and Storm's own judgement of what is placed. */
public final class SolverCases {
    private static final Object[][] APART = {
        {"spout-0", "spout-0"}, {"bolt-1", "bolt-1"}, {"spout-0", "bolt-0"}, {"bolt-2", "spout-0"},
        {"bolt-1", "bolt-2"}, {"bolt-1", "bolt-0"}, {"bolt-1", "spout-0"}};

    private SolverCases() {
    }

    /**
     * A cluster with one topology, empty.
     *
     * @param name the test: solver (spread 1), spread (2), backtrack (2, few bolts), integration, large-1 or large-20
     */
    public static Cluster cluster(String name) {
        if (name.startsWith("large-")) {
            return large(Integer.parseInt(name.substring("large-".length())));
        }
        if (name.equals("integration")) {
            return integration();
        }
        Map<String, Object> conf = new TestConstraintSolverStrategy().makeTestTopoConf(name.equals("solver") ? 1 : 2, true);
        conf.put(Config.TOPOLOGY_SCHEDULER_STRATEGY, ConstraintSolverStrategy.class.getName());
        return TestConstraintSolverStrategy.makeCluster(
            new Topologies(TestConstraintSolverStrategy.makeTopology(conf, name.equals("backtrack") ? 3 : 11)));
    }

    /** As `testScheduleLargeExecutorConstraintCount`, whose parts are private. */
    private static Cluster large(int times) {
        Map<String, Object> conf = TestUtilsForResourceAwareScheduler.createCSSClusterConfig(10, 10, 0, null);
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINT_MAX_STATE_SEARCH, 50000);
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINT_MAX_TIME_SECS, 120);
        conf.put(DaemonConfig.SCHEDULING_TIMEOUT_SECONDS_PER_TOPOLOGY, 120);
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINTS, rules(APART, Map.of("spout-0", times, "bolt-1", times)));
        int each = 30 * times;
        return made(conf, each, 30, 3500, 35000, 10, 10, each, each);
    }

    /** As `testIntegrationWithRAS`. */
    private static Cluster integration() {
        Map<String, Object> conf = Utils.readDefaultConfig();
        conf.put(Config.TOPOLOGY_SCHEDULER_STRATEGY, ConstraintSolverStrategy.class.getName());
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINT_MAX_STATE_SEARCH, 2000);
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINT_MAX_TIME_SECS, 120); // a busy machine must not change the plan
        conf.put(DaemonConfig.SCHEDULING_TIMEOUT_SECONDS_PER_TOPOLOGY, 120);
        conf.put(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, 100_000);
        conf.put(Config.TOPOLOGY_PRIORITY, 1);
        conf.put(Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT, 10);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 100);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_OFFHEAP_MEMORY_MB, 0.0);
        Object[][] apart = {{"spout-0", "bolt-0"}, {"bolt-1", "bolt-1"}, {"bolt-1", "bolt-2"}};
        conf.put(Config.TOPOLOGY_RAS_CONSTRAINTS, rules(apart, Map.of("spout-0", 1, "bolt-1", 10)));
        return made(conf, 37, 16, 400, 4096, 2, 3, 30, 300);
    }

    private static Map<String, Map<String, Object>> rules(Object[][] apart, Map<String, Integer> most) {
        Map<String, Map<String, Object>> rules = new HashMap<>();
        for (Object[] pair : apart) {
            @SuppressWarnings("unchecked")
            List<Object> others = (List<Object>) rules.computeIfAbsent((String) pair[0], name -> new HashMap<>())
                .computeIfAbsent("incompatibleComponents", name -> new ArrayList<>());
            others.add(pair[1]);
        }
        most.forEach((component, count) -> rules.get(component).put("maxNodeCoLocationCnt", count));
        return rules;
    }

    private static Cluster made(Map<String, Object> conf, int supervisors, int ports, double cpu, double memory,
            int spouts, int bolts, int spoutExecutors, int boltExecutors) {
        TopologyDetails topology = TestUtilsForResourceAwareScheduler.genTopology("testTopo", conf, spouts, bolts,
            spoutExecutors, boltExecutors, 0, 0, "user");
        return TestConstraintSolverStrategy.makeCluster(new Topologies(topology),
            TestUtilsForResourceAwareScheduler.genSupervisors(supervisors, ports, cpu, memory));
    }

    /** Schedule by Storm alone. */
    public static void byStorm(Cluster cluster) {
        ResourceAwareScheduler storm = new ResourceAwareScheduler();
        storm.prepare(topology(cluster).getConf(), new StormMetricsRegistry());
        storm.schedule(cluster.getTopologies(), cluster);
        storm.cleanup();
    }

    /** End every other worker, as `basicUnitTestWithKillAndRecover` does. */
    public static void loseWorkers(Cluster cluster) {
        List<WorkerSlot> slots = new ArrayList<>(cluster.getAssignmentById(topology(cluster).getId()).getSlots());
        for (int i = 0; i < slots.size(); i += 2) {
            cluster.freeSlot(slots.get(i));
        }
    }

    /** Executors without a slot. */
    public static int left(Cluster cluster) {
        return cluster.getUnassignedExecutors(topology(cluster)).size();
    }

    /** What Storm says of the placement: whether no constraint is broken. */
    public static boolean valid(Cluster cluster) {
        return cluster.getAssignmentById(topology(cluster).getId()) == null
            || ConstraintSolverStrategy.validateSolution(cluster, topology(cluster));
    }

    /** Most executors of a component in one worker: Storm's judgement leaves out that one may bear no other of its own. */
    public static long together(Cluster cluster, String component) {
        TopologyDetails topology = topology(cluster);
        return cluster.getAssignmentById(topology.getId()).getSlotToExecutors().values().stream()
            .mapToLong(worker -> worker.stream()
                .filter(each -> topology.getComponentFromExecutor(each).equals(component)).count())
            .max().orElse(0);
    }

    private static TopologyDetails topology(Cluster cluster) {
        return cluster.getTopologies().getTopologies().iterator().next();
    }
}
