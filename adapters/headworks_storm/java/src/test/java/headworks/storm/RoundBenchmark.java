package headworks.storm;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * What a round costs beyond planning: 10,000 executors of 50 topologies on 1,000 supervisors with 10 slots each.
 *
 * A real Python process answers with a plan that was made before. Prints a JSON object for each case: every executor is
 * new, every executor moves, nothing changes. `lab/headworks_lab/benchmarks/storm/round.py` runs it.
 */
public final class RoundBenchmark {
    private static final int SUPERVISORS = 1000;
    private static final int PORTS = 10;
    private static final int TOPOLOGIES = 50;
    private static final int EXECUTORS = 200;
    private static final int PER_WORKER = 10;
    private static final int ROUNDS = 15;

    private final Map<String, SupervisorDetails> supervisors = Clusters.supervisors(SUPERVISORS, PORTS);
    private final TopologyDetails[] topologies = new TopologyDetails[TOPOLOGIES];
    private final Path folder;

    private RoundBenchmark(Path folder) {
        this.folder = folder;
        for (int i = 0; i < TOPOLOGIES; i++) {
            topologies[i] = Clusters.topology("t" + i, EXECUTORS / 2, EXECUTORS / PER_WORKER,
                Map.of(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, PER_WORKER * Clusters.HEAP));
        }
    }

    /** Run it. */
    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("headworks-round");
        RoundBenchmark benchmark = new RoundBenchmark(folder);
        benchmark.run("new", Map.of(), 0);
        benchmark.run("moved", benchmark.placed(0), 1);
        benchmark.run("unchanged", benchmark.placed(0), 0);
    }

    private void run(String name, Map<String, SchedulerAssignment> running, int shift) throws Exception {
        Path endpoint = folder.resolve("endpoint.json");
        Path plan = folder.resolve("plan.json");
        Files.writeString(plan, answer(placed(shift)));
        double[] whole = new double[ROUNDS];
        double[] python = new double[ROUNDS];
        double[] cpu = new double[ROUNDS];
        double[] bridge = new double[ROUNDS];
        double before = 0;
        try (PlannerProcess process = PlannerProcess.start(endpoint, "echo", plan.toString())) {
            HeadworksScheduler scheduler = new HeadworksScheduler();
            Map<String, Object> conf = Clusters.conf();
            conf.put(Settings.ENDPOINT, endpoint.toString());
            scheduler.prepare(conf, new StormMetricsRegistry());
            for (int i = 0; i < ROUNDS; i++) {
                Cluster cluster = Clusters.cluster(supervisors, running, topologies);
                long used = used();
                long start = System.nanoTime();
                scheduler.schedule(cluster.getTopologies(), cluster);
                whole[i] = (System.nanoTime() - start) / 1e9;
                cpu[i] = (used() - used) / 1e9;
                String[] spent = Files.readString(folder.resolve("plan.seconds")).split(" ");
                python[i] = Double.parseDouble(spent[0]);
                bridge[i] = Double.parseDouble(spent[2]) - before - Double.parseDouble(spent[1]);
                before = Double.parseDouble(spent[2]);
                check(cluster, shift);
            }
            scheduler.cleanup();
        }
        ObjectNode line = line(name, whole, python, running, Files.size(plan));
        line.put("median_nimbus_cpu_s", median(cpu));
        line.put("median_python_cpu_s", median(bridge));
        System.out.println(line);
    }

    /** Nanoseconds of processor time that the scheduling thread and the bridge's have used. */
    private static long used() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long own = threads.getCurrentThreadCpuTime();
        for (ThreadInfo each : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (each != null && each.getThreadName().equals("headworks-bridge")) {
                own += Math.max(0, threads.getThreadCpuTime(each.getThreadId()));
            }
        }
        return own;
    }

    private ObjectNode line(
            String name, double[] whole, double[] python, Map<String, SchedulerAssignment> running, long answer)
            throws IOException {
        double[] rest = new double[ROUNDS];
        Arrays.setAll(rest, i -> whole[i] - python[i]);
        ObjectNode line = Json.MAPPER.createObjectNode();
        line.put("case", name);
        line.put("round_bytes", Snapshot.write(Clusters.cluster(supervisors, running, topologies), "", 1, 1).length());
        line.put("answer_bytes", answer);
        line.put("first_s", whole[0]);
        line.put("median_s", median(whole));
        line.put("median_python_s", median(python));
        line.put("median_rest_s", median(rest));
        line.put("worst_rest_s", Arrays.stream(rest).skip(1).max().orElseThrow());
        return line;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** Worker k of all topologies in the k-th slot, counted across supervisors first, and so much further. */
    private Map<String, SchedulerAssignment> placed(int shift) {
        Map<String, SchedulerAssignment> assignments = new HashMap<>();
        int worker = shift;
        for (TopologyDetails topology : topologies) {
            Map<ExecutorDetails, WorkerSlot> where = new HashMap<>();
            for (int task = 0; task < EXECUTORS; task++) {
                int slot = worker + task / PER_WORKER;
                where.put(Clusters.executor(task),
                    new WorkerSlot("s" + slot % SUPERVISORS, 6700 + slot / SUPERVISORS));
            }
            worker += EXECUTORS / PER_WORKER;
            assignments.put(topology.getId(), new SchedulerAssignmentImpl(topology.getId(), where, null, null));
        }
        return assignments;
    }

    private static String answer(Map<String, SchedulerAssignment> wanted) {
        ObjectNode answer = Json.MAPPER.createObjectNode().put("mode", "assign");
        ObjectNode topologies = answer.putObject("topologies");
        wanted.forEach((id, assignment) -> {
            ArrayNode workers = topologies.putArray(id);
            assignment.getSlotToExecutors().forEach((slot, executors) -> {
                ArrayNode worker = workers.addArray().add(slot.getNodeId()).add(slot.getPort());
                ArrayNode flat = worker.addArray();
                executors.forEach(executor -> flat.add(executor.getStartTask()).add(executor.getEndTask()));
            });
        });
        return answer.toString();
    }

    private void check(Cluster cluster, int shift) {
        placed(shift).forEach((id, wanted) -> {
            if (!wanted.getExecutorToSlot().equals(cluster.getAssignmentById(id).getExecutorToSlot())) {
                throw new IllegalStateException(id + " is not as planned: " + cluster.getStatus(id));
            }
        });
    }
}
