package headworks.storm;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.Config;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.SharedMemory;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.TestUtilsForResourceAwareScheduler;
import org.apache.storm.scheduler.resource.normalization.NormalizedResources;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/** Clusters of Storm's own classes, built as Nimbus builds them for a round. */
final class Clusters {
    static final double HEAP = 128;
    private static final Map<String, Object> CONF = TestUtilsForResourceAwareScheduler.createClusterConfig(
        10, HEAP, 0, null);

    private Clusters() {
    }

    /** Storm's defaults; 10 points of CPU and 128 MB of heap for an executor. */
    static Map<String, Object> conf() {
        Map<String, Object> conf = new HashMap<>(CONF);
        conf.put(Config.TOPOLOGY_SUBMITTER_USER, "root");
        return conf;
    }

    /** Supervisors s0, s1, ... on hosts of their own, h0, h1, ... */
    static Map<String, SupervisorDetails> supervisors(int count, int ports) {
        Map<String, SupervisorDetails> supervisors = new HashMap<>();
        for (int i = 0; i < count; i++) {
            List<Integer> slots = new ArrayList<>();
            for (int port = 0; port < ports; port++) {
                slots.add(6700 + port);
            }
            Map<String, Double> resources = Map.of(
                Config.SUPERVISOR_CPU_CAPACITY, 400.0, Config.SUPERVISOR_MEMORY_CAPACITY_MB, 4096.0);
            supervisors.put("s" + i, new SupervisorDetails("s" + i, "h" + i, null, slots,
                NormalizedResources.RESOURCE_NAME_NORMALIZER.normalizedResourceMap(resources)));
        }
        return supervisors;
    }

    /** A topology `name` with id `name-id`: one spout and one bolt of so many executors each. */
    static TopologyDetails topology(String name, int parallelism, int workers) {
        return topology(name, parallelism, workers, Map.of());
    }

    static TopologyDetails topology(String name, int parallelism, int workers, Map<String, Object> more) {
        Map<String, Object> conf = new HashMap<>(conf());
        conf.put(Config.TOPOLOGY_PRIORITY, 29);
        conf.put(Config.TOPOLOGY_WORKERS, workers);
        conf.put(Config.TOPOLOGY_NAME, name);
        conf.put(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, 6 * HEAP);
        conf.putAll(more);
        int hint = Math.max(1, parallelism);
        StormTopology graph = TestUtilsForResourceAwareScheduler.buildTopology(1, 1, hint, hint);
        Map<ExecutorDetails, String> executors = new HashMap<>();
        for (int task = 0; task < 2 * parallelism; task++) {
            executors.put(executor(task), task < parallelism ? "spout-0" : "bolt-0");
        }
        return new TopologyDetails(name + "-id", conf, graph, workers, executors, 0, "root");
    }

    /** The same topology with further settings. */
    static TopologyDetails saying(TopologyDetails topology, Map<String, Object> more) {
        Map<String, Object> conf = new HashMap<>(topology.getConf());
        conf.putAll(more);
        return new TopologyDetails(topology.getId(), conf, topology.getTopology(), topology.getNumWorkers(),
            topology.getExecutorToComponent(), 0, "root");
    }

    /** The same topology, of whose bolts' executors those in one worker, and those on one node, share memory. */
    static TopologyDetails sharing(TopologyDetails topology, double heap, double worker, double node) {
        StormTopology graph = topology.getTopology().deepCopy();
        SharedMemory shared = new SharedMemory("shared");
        shared.set_on_heap(heap);
        shared.set_off_heap_worker(worker);
        shared.set_off_heap_node(node);
        graph.put_to_shared_memory("shared", shared);
        graph.put_to_component_to_shared_memory("bolt-0", new HashSet<>(Set.of("shared")));
        return new TopologyDetails(topology.getId(), topology.getConf(), graph, topology.getNumWorkers(),
            topology.getExecutorToComponent(), 0, "root");
    }

    /** The same topology, each executor of whose bolts asks for so much of a resource. */
    @SuppressWarnings("unchecked")
    static TopologyDetails asking(TopologyDetails topology, String resource, double amount) {
        StormTopology graph = topology.getTopology().deepCopy();
        ComponentCommon bolt = graph.get_bolts().get("bolt-0").get_common();
        Map<String, Object> conf = bolt.get_json_conf() == null ? new HashMap<>()
            : new HashMap<>((Map<String, Object>) JSONValue.parse(bolt.get_json_conf()));
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_MAP, Map.of(resource, amount));
        bolt.set_json_conf(JSONValue.toJSONString(conf));
        return new TopologyDetails(topology.getId(), topology.getConf(), graph, topology.getNumWorkers(),
            topology.getExecutorToComponent(), 0, "root");
    }

    static ExecutorDetails executor(int task) {
        return new ExecutorDetails(task, task);
    }

    static Cluster cluster(Map<String, SupervisorDetails> supervisors, TopologyDetails... topologies) {
        return cluster(supervisors, Map.of(), topologies);
    }

    static Cluster cluster(
            Map<String, SupervisorDetails> supervisors,
            Map<String, SchedulerAssignment> assignments,
            TopologyDetails... topologies) {
        return new Cluster(new TestUtilsForResourceAwareScheduler.INimbusTest(),
            new ResourceMetrics(new StormMetricsRegistry()), supervisors, assignments, new Topologies(topologies), conf());
    }

    /** An assignment: slot, tasks, slot, tasks, ... */
    static Map<String, SchedulerAssignment> assigned(TopologyDetails topology, Object... slotsAndTasks) {
        Map<ExecutorDetails, WorkerSlot> where = new LinkedHashMap<>();
        for (int i = 0; i < slotsAndTasks.length; i += 2) {
            for (int task : (int[]) slotsAndTasks[i + 1]) {
                where.put(executor(task), slot((String) slotsAndTasks[i]));
            }
        }
        return new HashMap<>(Map.of(topology.getId(), new SchedulerAssignmentImpl(topology.getId(), where, null, null)));
    }

    /** The slot "s1:6700". */
    static WorkerSlot slot(String name) {
        String[] parts = name.split(":");
        return new WorkerSlot(parts[0], Integer.parseInt(parts[1]));
    }

    static int[] tasks(int... tasks) {
        return tasks;
    }

    /** Every assignment in an order of its own: topology, slot and tasks. */
    static Map<String, Map<String, Collection<Integer>>> layout(Cluster cluster) {
        Map<String, Map<String, Collection<Integer>>> layout = new TreeMap<>();
        cluster.getAssignments().forEach((id, assignment) -> assignment.getExecutorToSlot().forEach(
            (executor, slot) -> layout.computeIfAbsent(id, key -> new TreeMap<>())
                .computeIfAbsent(slot.getNodeId() + ":" + slot.getPort(), key -> new TreeSet<>())
                .add(executor.getStartTask())));
        return layout;
    }

    /** The layout of one topology. */
    static Map<String, Collection<Integer>> layout(Cluster cluster, TopologyDetails topology) {
        return layout(cluster).getOrDefault(topology.getId(), Map.of());
    }
}
