package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.slot;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.storm.Config;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

/** Resources of workers whose executors stay: a supervisor restarts a worker for another last digit. */
class WorkerSumsTest {
    private static final int ROUNDS = 200;

    /** Two kinds of executors, with fractions that add up to other last digits in another order. */
    private static TopologyDetails fractions(int parallelism) {
        TopologyDetails plain = topology("wc", parallelism, 4, Map.of(
            Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT, 10.0 / 3, Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, 100_000.0));
        plain.getTopology().get_bolts().get("bolt-0").get_common().set_json_conf(
            "{\"" + Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT + "\":0.7}");
        return new TopologyDetails(plain.getId(), plain.getConf(), plain.getTopology(), 4, plain.getExecutorToComponent(),
            0, "root");
    }

    /** The next round: what was assigned, less what is dead by now, as Nimbus reads it from ZooKeeper. */
    private static Cluster next(Cluster cluster, TopologyDetails wc, Set<ExecutorDetails> dead, Random chance) {
        List<ExecutorDetails> stored = new ArrayList<>(cluster.getAssignmentById("wc-id").getExecutorToSlot().keySet());
        Collections.shuffle(stored, chance);
        Map<ExecutorDetails, WorkerSlot> alive = new HashMap<>();
        for (ExecutorDetails each : stored) {
            if (!dead.contains(each)) {
                alive.put(each, cluster.getAssignmentById("wc-id").getExecutorToSlot().get(each));
            }
        }
        Map<String, SchedulerAssignment> found = new HashMap<>(Map.of("wc-id",
            new SchedulerAssignmentImpl("wc-id", alive, null, null)));
        return cluster(supervisors(2, 2), found, wc);
    }

    private static Map<WorkerSlot, WorkerResources> resources(Cluster cluster) {
        return new HashMap<>(cluster.getAssignmentById("wc-id").getScheduledResources());
    }

    /** An answer that deals the executors to two slots at random. */
    private static Script dealt(int count, Random chance) {
        List<List<String>> slots = List.of(new ArrayList<>(), new ArrayList<>());
        List<Integer> tasks = new ArrayList<>();
        for (int task = 0; task < count; task++) {
            tasks.add(task);
        }
        Collections.shuffle(tasks, chance);
        tasks.forEach(task -> slots.get(task % 2).add(task + "," + task));
        return Script.assign("wc-id", String.format("[['s0',6700,[%s]],['s1',6701,[%s]]]",
            String.join(",", slots.get(0)), String.join(",", slots.get(1))));
    }

    private static Map<String, Map<WorkerSlot, WorkerSums.Sum>> stored(Cluster cluster) {
        Map<WorkerSlot, WorkerSums.Sum> sums = new HashMap<>();
        resources(cluster).forEach((slot, resources) -> sums.put(
            slot, new WorkerSums.Sum(Layout.running(cluster, "wc-id").get(slot), resources)));
        return Map.of("wc-id", sums);
    }

    /** Rounds in which others die or nobody does, with what remembers the round before, or reads what is stored. */
    private static void stays(long longest, boolean dies) {
        Random chance = new Random(7);
        int differed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            TopologyDetails wc = fractions(6 + chance.nextInt(20));
            Cluster first = cluster(supervisors(2, 2), wc);
            Script.scheduler(dealt(wc.getExecutors().size(), chance)).schedule(first.getTopologies(), first);
            WorkerSums sums = new WorkerSums(topologies -> longest > 0 ? Map.of() : stored(first), longest);
            sums.keep(first);
            WorkerResources before = resources(first).get(slot("s0:6700"));
            Set<ExecutorDetails> dead = new HashSet<>(
                first.getAssignmentById("wc-id").getSlotToExecutors().get(slot("s1:6701")));
            Cluster second = next(first, wc, dies ? dead : Set.of(), chance);
            differed += before.equals(resources(second).get(slot("s0:6700"))) ? 0 : 1;
            sums.keep(second);
            assertEquals(before, resources(second).get(slot("s0:6700")));
            sums.keep(second = next(second, wc, Set.of(), chance));
            assertEquals(before, resources(second).get(slot("s0:6700")));
        }
        assertTrue(differed > 0, "nothing was put back: numbers add up to the same in any order");
    }

    @Test
    void staysAfterItStarted() {
        stays(Long.MAX_VALUE, false);
    }

    @Test
    void staysWhileOthersDieAndComeBack() {
        stays(Long.MAX_VALUE, true);
    }

    @Test
    void staysUnderAnotherNimbusThatReadsWhatIsStored() {
        stays(0, true);
    }

    @Test
    void isNimbussOwnSumWhereNothingCanBeRead() {
        TopologyDetails wc = fractions(2);
        Cluster cluster = cluster(supervisors(2, 2), assigned(wc, "s0:6700", tasks(0, 1)), wc);
        Map<WorkerSlot, WorkerResources> own = resources(cluster);
        new WorkerSums(topologies -> {
            throw new IllegalStateException("ZooKeeper is away");
        }, 0).keep(cluster);
        assertEquals(own, resources(cluster));
    }

    @Test
    void isNotWaitedForWhileZooKeeperIsAway() throws Exception {
        Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
        conf.put(Config.STORM_ZOOKEEPER_SERVERS, List.of("127.0.0.1"));
        try (ServerSocket deaf = new ServerSocket(0)) {
            conf.put(Config.STORM_ZOOKEEPER_PORT, deaf.getLocalPort());
            StoredSums stored = new StoredSums(conf);
            assertThrows(TimeoutException.class, () -> stored.of(List.of("wc-id")));
            assertThrows(IllegalStateException.class, () -> stored.of(List.of("wc-id")));
        }
    }

    @Test
    void isAnotherSumWhereItReallyChanges() {
        TopologyDetails wc = topology("wc", 2, 2);
        WorkerSums sums = new WorkerSums(topologies -> Map.of(), Long.MAX_VALUE);
        Cluster first = cluster(supervisors(2, 2), assigned(wc, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3)), wc);
        sums.keep(first);
        TopologyDetails more = topology("wc", 2, 2, Map.of(Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT, 10.001));
        Cluster second = cluster(supervisors(2, 2), assigned(more, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3)), more);
        WorkerResources wanted = resources(second).get(slot("s0:6700"));
        sums.keep(second);
        assertEquals(wanted, resources(second).get(slot("s0:6700")));
        assertNotEquals(wanted, resources(first).get(slot("s0:6700")));
    }
}
