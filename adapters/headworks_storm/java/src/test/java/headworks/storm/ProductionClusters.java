package headworks.storm;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.storm.Config;
import org.apache.storm.DaemonConfig;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.scheduler.resource.TestUtilsForResourceAwareScheduler;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.scheduler.resource.strategies.scheduling.DefaultResourceAwareStrategy;
import org.apache.storm.scheduler.resource.strategies.scheduling.TestLargeCluster;
import org.apache.storm.scheduler.resource.strategies.scheduling.TestLargeCluster.TEST_CLUSTER_NAME;

/**
 * The production clusters of Storm's own tests, set up as `TestLargeCluster` does it.
 *
 * Its data has to be on the class path as files: it lists a folder, which is no entry of a jar.
 */
public final class ProductionClusters {
    /** For each topology, in place of Storm's minute. */
    private static final int PATIENCE_SECONDS = 3600;

    private ProductionClusters() {
    }

    /**
     * An empty cluster with its topologies.
     *
     * @param name largeCluster01, largeCluster02 or largeCluster03
     */
    public static Cluster cluster(String name) throws ReflectiveOperationException {
        try {
            TopologyDetails[] topologies = TestLargeCluster.createTopoDetailsArray("clusterconf/" + name, false);
            Map<String, Object> conf = new HashMap<>(topologies[0].getConf());
            conf.put(Config.TOPOLOGY_SCHEDULER_STRATEGY, DefaultResourceAwareStrategy.class.getName());
            conf.put(Config.STORM_NETWORK_TOPOGRAPHY_PLUGIN,
                TestUtilsForResourceAwareScheduler.GenSupervisorsDnsToSwitchMapping.class.getName());
            return new Cluster(new TestUtilsForResourceAwareScheduler.INimbusTest(),
                new ResourceMetrics(new StormMetricsRegistry()), supervisors(name), new HashMap<>(),
                new Topologies(topologies), conf);
        } catch (ReflectiveOperationException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(name + " cannot be read", e);
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, SupervisorDetails> supervisors(String name) throws ReflectiveOperationException {
        Method create = TestLargeCluster.class.getDeclaredMethod(
            "createSupervisors", TEST_CLUSTER_NAME.class, int.class);
        create.setAccessible(true);
        String number = name.substring(name.length() - 2);
        return (Map<String, SupervisorDetails>) create.invoke(null,
            TEST_CLUSTER_NAME.valueOf("TEST_CLUSTER_" + number), 0);
    }

    /** Storm's resource-aware scheduler on each of the clusters named: seconds, supervisors and assignment, as JSON. */
    public static void main(String[] names) throws ReflectiveOperationException {
        OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        for (String name : names) {
            Cluster cluster = cluster(name);
            IScheduler ras = new ResourceAwareScheduler();
            Map<String, Object> patient = new HashMap<>(cluster.getConf()); // a busy machine must not change the plan
            patient.put(DaemonConfig.SCHEDULING_TIMEOUT_SECONDS_PER_TOPOLOGY, PATIENCE_SECONDS);
            ras.prepare(patient, new StormMetricsRegistry());
            long start = System.nanoTime();
            long cpu = process.getProcessCpuTime();
            ras.schedule(cluster.getTopologies(), cluster);
            ObjectNode line = Json.MAPPER.createObjectNode().put("cluster", name)
                .put("seconds", (System.nanoTime() - start) / 1e9)
                .put("cpu_seconds", (process.getProcessCpuTime() - cpu) / 1e9);
            ras.cleanup();
            line.put("peak_mb", peak());
            ObjectNode supervisors = line.putObject("supervisors");
            cluster.getSupervisors().forEach((id, each) -> supervisors.putArray(id)
                .add(each.getTotalCpu()).add(each.getTotalMemory()).add(each.getAllPorts().size()));
            cluster.getTopologies().forEach(each -> topology(line.withObject("/topologies"), each, cluster));
            System.out.println(line);
        }
        System.exit(0);
    }

    /** Most MB of memory that this process occupied so far, as Linux counts it; 0 elsewhere. */
    private static double peak() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            String line = lines.filter(each -> each.startsWith("VmHWM:")).findFirst().orElse("VmHWM: 0 kB");
            return Double.parseDouble(line.replaceAll("[^0-9]", "")) / 1024;
        } catch (IOException e) {
            return 0;
        }
    }

    /** Supervisor and port of each executor of each component, in the order of their tasks; null without a slot. */
    private static void topology(ObjectNode into, TopologyDetails topology, Cluster cluster) {
        SchedulerAssignment assignment = cluster.getAssignmentById(topology.getId());
        Map<ExecutorDetails, WorkerSlot> where = assignment == null ? Map.of() : assignment.getExecutorToSlot();
        ObjectNode components = into.putObject(topology.getId());
        new TreeMap<>(topology.getComponentToExecutors()).forEach((component, executors) -> {
            ArrayNode slots = components.putArray(component);
            executors.stream().sorted(SnapshotTopology.BY_TASK).map(where::get).forEach(slot -> {
                if (slot == null) {
                    slots.addNull();
                } else {
                    slots.addArray().add(slot.getNodeId()).add(slot.getPort());
                }
            });
        });
    }
}
