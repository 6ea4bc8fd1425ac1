package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.junit.jupiter.api.Test;

/** Rounds without a plan: what runs is held, and executors without a slot are placed by Storm's own scheduler. */
class FallbackTest {
    private static final String RAS = ResourceAwareScheduler.class.getName();
    private static final Planner NOBODY = round -> {
        throw NoPlan.unanswered("connection refused");
    };

    private static void schedule(Cluster cluster, Object... conf) {
        HeadworksScheduler scheduler = Script.scheduler(NOBODY, conf);
        scheduler.schedule(cluster.getTopologies(), cluster);
        scheduler.cleanup();
    }

    @Test
    void placesANewTopologyAsTheEvenSchedulerDoes() {
        TopologyDetails wc = topology("wc", 4, 3);
        Cluster cluster = cluster(supervisors(3, 2), wc);
        Cluster alone = new Cluster(cluster);
        schedule(cluster);
        new EvenScheduler().schedule(alone.getTopologies(), alone);
        assertEquals(3, layout(cluster, wc).size());
        assertEquals(layout(alone), layout(cluster));
    }

    @Test
    void keepsUnevenWorkersThatTheDefaultSchedulerWouldRestart() {
        TopologyDetails wc = topology("wc", 4, 4);
        Cluster cluster = cluster(supervisors(4, 2),
            assigned(wc, "s0:6700", tasks(0, 1, 2, 3, 4), "s1:6700", tasks(5, 6, 7)), wc);
        schedule(cluster);
        assertEquals("{s0:6700=[0, 1, 2, 3, 4], s1:6700=[5, 6, 7]}", layout(cluster, wc).toString());
        assertEquals("Headworks does not answer (connection refused); running executors are held",
            cluster.getStatus("wc-id"));
    }

    @Test
    void replacesALostWorkerOfATopologyWithMoreWorkersThanItAskedFor() {
        TopologyDetails wide = topology("wide", 3, 1);
        TopologyDetails other = topology("other", 1, 1);
        Cluster cluster = cluster(supervisors(4, 1),
            assigned(wide, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3)), wide, other);
        schedule(cluster);
        assertTrue(cluster.getUnassignedExecutors(wide).isEmpty());
        assertTrue(cluster.getUnassignedExecutors(other).isEmpty());
        assertEquals("[0, 1]", layout(cluster, wide).get("s0:6700").toString());
        assertEquals("[2, 3]", layout(cluster, wide).get("s1:6700").toString());
    }

    @Test
    void waitsWhereThereIsNoSlot() {
        TopologyDetails wc = topology("wc", 1, 1);
        Cluster cluster = cluster(supervisors(0, 0), wc);
        schedule(cluster);
        assertEquals("Headworks does not answer (connection refused); running executors are held; "
            + "no slot for 2 executors", cluster.getStatus("wc-id"));
    }

    @Test
    void usesTheResourceAwareSchedulerWhereTheClusterHadIt() {
        TopologyDetails wc = topology("wc", 4, 1, Map.of(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, 256.0));
        Cluster cluster = cluster(supervisors(2, 4), wc);
        Cluster alone = new Cluster(cluster);
        schedule(cluster, Settings.OWN, RAS);
        ResourceAwareScheduler ras = new ResourceAwareScheduler();
        ras.prepare(Clusters.conf(), new StormMetricsRegistry());
        ras.schedule(alone.getTopologies(), alone);
        ras.cleanup();
        assertEquals(4, layout(alone, wc).size());
        assertEquals(layout(alone), layout(cluster));
        assertEquals("Headworks does not answer (connection refused); running executors are held; "
            + "Storm's ResourceAwareScheduler placed 8 unassigned executors", cluster.getStatus("wc-id"));
    }

    @Test
    void letsNobodyBeEvicted() {
        TopologyDetails low = topology("low", 3, 1, Map.of(Config.TOPOLOGY_PRIORITY, 30));
        TopologyDetails high = topology("high", 3, 1, Map.of(Config.TOPOLOGY_PRIORITY, 0));
        Map<String, SchedulerAssignment> running = assigned(low, "s0:6700", tasks(0, 1, 2, 3, 4, 5));
        Cluster cluster = cluster(supervisors(1, 1), running, low, high);
        Cluster alone = new Cluster(cluster);
        ResourceAwareScheduler ras = new ResourceAwareScheduler();
        ras.prepare(Clusters.conf(), new StormMetricsRegistry());
        ras.schedule(alone.getTopologies(), alone);
        ras.cleanup();
        assertEquals("{high-id={s0:6700=[0, 1, 2, 3, 4, 5]}}", layout(alone).toString());
        schedule(cluster, Settings.OWN, RAS);
        assertEquals("{low-id={s0:6700=[0, 1, 2, 3, 4, 5]}}", layout(cluster).toString());
    }

    /** Of a topology for which another one was to be evicted, the free slots alone would start a half. */
    @Test
    void startsNoTopologyInPart() {
        TopologyDetails low = topology("low", 3, 1, Map.of(Config.TOPOLOGY_PRIORITY, 30));
        TopologyDetails high = topology("high", 3, 1,
            Map.of(Config.TOPOLOGY_PRIORITY, 0, Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, 3 * Clusters.HEAP));
        Map<String, SchedulerAssignment> running = assigned(low, "s0:6700", tasks(0, 1, 2, 3, 4, 5));
        Cluster cluster = cluster(supervisors(2, 1), running, low, high);
        Cluster alone = new Cluster(cluster);
        Evicting.evict(alone);
        assertEquals(2, layout(alone, high).size());
        schedule(cluster, Settings.OWN, Evicting.class.getName());
        assertEquals("{low-id={s0:6700=[0, 1, 2, 3, 4, 5]}}", layout(cluster).toString());
        assertEquals("Headworks does not answer (connection refused); running executors are held; "
            + "no slot for 6 executors", cluster.getStatus("high-id"));
    }

    @Test
    void takesOverNothingButAdditions() {
        TopologyDetails wc = topology("wc", 2, 2);
        TopologyDetails fresh = topology("fresh", 1, 1);
        Cluster cluster = cluster(supervisors(2, 2),
            assigned(wc, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3)), wc, fresh);
        schedule(cluster, Settings.OWN, Rearranging.class.getName());
        assertEquals("{wc-id={s0:6700=[0, 1], s1:6700=[2, 3]}}", layout(cluster).toString());
    }

    @Test
    void holdsWhenStormsOwnSchedulerFailsToo() {
        TopologyDetails wc = topology("wc", 2, 2);
        Cluster cluster = cluster(supervisors(2, 2), assigned(wc, "s0:6700", tasks(0, 1, 2)), wc);
        schedule(cluster, Settings.OWN, Failing.class.getName());
        assertEquals("{wc-id={s0:6700=[0, 1, 2]}}", layout(cluster).toString());
    }

    @Test
    void takesTheDefaultSchedulerForOneThatCannotBeUsed() {
        TopologyDetails wc = topology("wc", 2, 2);
        for (String own : new String[] {"no.such.Class", "java.lang.String", HeadworksScheduler.class.getName()}) {
            Cluster cluster = cluster(supervisors(2, 2), wc);
            schedule(cluster, Settings.OWN, own);
            assertTrue(cluster.getUnassignedExecutors(wc).isEmpty());
        }
    }

    /** Puts the executors of all topologies into the slots of others. */
    public static final class Rearranging extends EvenScheduler {
        @Override
        public void schedule(Topologies topologies, Cluster cluster) {
            cluster.freeSlots(cluster.getUsedSlots());
            cluster.assign(Clusters.slot("s0:6700"), "fresh-id", topologies.getById("fresh-id").getExecutors());
            cluster.assign(Clusters.slot("s1:6701"), "wc-id", topologies.getById("wc-id").getExecutors());
        }
    }

    /** Gives the slots of all others to one topology, half of it to each. */
    public static final class Evicting extends EvenScheduler {
        static void evict(Cluster cluster) {
            cluster.freeSlots(cluster.getUsedSlots());
            List<ExecutorDetails> all = new ArrayList<>(cluster.getTopologies().getById("high-id").getExecutors());
            cluster.assign(Clusters.slot("s0:6700"), "high-id", all.subList(0, all.size() / 2));
            cluster.assign(Clusters.slot("s1:6700"), "high-id", all.subList(all.size() / 2, all.size()));
        }

        @Override
        public void schedule(Topologies topologies, Cluster cluster) {
            evict(cluster);
        }
    }

    /** Frees everything, and then fails. */
    public static final class Failing implements IScheduler {
        @Override
        public void prepare(Map<String, Object> conf, StormMetricsRegistry metrics) {
        }

        @Override
        public void schedule(Topologies topologies, Cluster cluster) {
            cluster.freeSlots(cluster.getUsedSlots());
            throw new StackOverflowError();
        }

        @Override
        public Map<String, Object> config() {
            return Map.of();
        }
    }
}
