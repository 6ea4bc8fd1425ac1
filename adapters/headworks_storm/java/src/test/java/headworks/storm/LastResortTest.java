package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.junit.jupiter.api.Test;

/** What an answer leaves without a slot for want of CPU or memory, where Storm's own scheduler counts neither. */
class LastResortTest {
    private static final String BEYOND = "; beyond what is declared of h0 (5120 of 4096 MB)";

    private static HeadworksScheduler answering(String more, Object... conf) {
        return Script.scheduler(Script.mode("assign", more), conf);
    }

    private static void round(HeadworksScheduler scheduler, Cluster cluster) {
        scheduler.schedule(cluster.getTopologies(), cluster);
    }

    /** 40 executors of 128 MB on a supervisor of 4,096: so many run in its first slot, and the others have lost theirs. */
    private static Cluster full(TopologyDetails wc, int running) {
        return cluster(supervisors(1, 2), assigned(wc, "s0:6700", IntStream.range(0, running).toArray()), wc);
    }

    @Test
    void placesWhatLostItsSlotAndSaysWhichHostIsFull() {
        TopologyDetails wc = topology("wc", 20, 2);
        Cluster cluster = full(wc, 32);
        round(answering("'last_resort':['wc-id']"), cluster);
        assertTrue(cluster.getUnassignedExecutors(wc).isEmpty());
        assertEquals("[32, 33, 34, 35, 36, 37, 38, 39]", layout(cluster, wc).get("s0:6701").toString());
        assertEquals("Headworks: 40 executors on 2 workers; Storm's EvenScheduler placed 8 executors by slots alone" + BEYOND,
            cluster.getStatus("wc-id"));
    }

    @Test
    void startsANewTopologyWhole() {
        TopologyDetails wc = topology("wc", 20, 2);
        Cluster cluster = cluster(supervisors(1, 2), wc);
        round(answering("'last_resort':['wc-id'],'status':{'wc-id':'not started'}"), cluster);
        assertTrue(cluster.getUnassignedExecutors(wc).isEmpty());
        assertTrue(cluster.getStatus("wc-id").endsWith(BEYOND));
    }

    @Test
    void leavesAloneWhatTheAnswerDoesNotName() {
        TopologyDetails wc = topology("wc", 20, 2);
        TopologyDetails other = topology("other", 1, 1);
        Cluster cluster = cluster(supervisors(1, 3), assigned(wc, "s0:6700", tasks(0, 1)), wc, other);
        round(answering("'last_resort':['other-id'],'status':{'wc-id':'waits'}"), cluster);
        assertEquals("{s0:6700=[0, 1]}", layout(cluster, wc).toString());
        assertEquals("waits", cluster.getStatus("wc-id"));
        assertTrue(cluster.getUnassignedExecutors(other).isEmpty());
    }

    @Test
    void keepsToWhatIsDeclaredWhereStormsOwnSchedulerDoes() {
        TopologyDetails wc = topology("wc", 20, 2);
        Cluster cluster = cluster(supervisors(1, 2), wc);
        round(answering("'last_resort':['wc-id'],'status':{'wc-id':'not started'}",
            Settings.OWN, ResourceAwareScheduler.class.getName()), cluster);
        assertEquals("{}", layout(cluster).toString());
        assertEquals("not started", cluster.getStatus("wc-id"));
    }

    @Test
    void saysSoAsLongAsTheHostIsFull() {
        TopologyDetails wc = topology("wc", 20, 2);
        Cluster cluster = full(wc, 32);
        HeadworksScheduler scheduler = answering("'last_resort':['wc-id']");
        round(scheduler, cluster);
        round(scheduler, cluster);
        assertEquals("Headworks: 40 executors on 2 workers" + BEYOND, cluster.getStatus("wc-id"));
        Cluster spread = cluster(supervisors(2, 2), assigned(wc,
            "s0:6700", IntStream.range(0, 32).toArray(), "s1:6700", IntStream.range(32, 40).toArray()), wc);
        round(scheduler, spread);
        assertEquals("Headworks: 40 executors on 2 workers", spread.getStatus("wc-id"));
    }

    /** `a` takes the slot that `b` leaves, and a task of `b` is without one: alone, `a` could not have it. */
    @Test
    void keepsAnAnswerOfWhichNoPartCanStandAlone() {
        TopologyDetails a = topology("a", 1, 1);
        TopologyDetails b = topology("b", 2, 1);
        Map<String, SchedulerAssignment> running = new HashMap<>(assigned(a, "s0:6700", tasks(0, 1)));
        running.putAll(assigned(b, "s0:6701", tasks(0, 1, 2)));
        Cluster cluster = cluster(supervisors(1, 2), running, a, b);
        round(answering("'topologies':{'a-id':[['s0',6701,[0,0,1,1]]],'b-id':[['s0',6700,[0,0,1,1,2,2]]]},"
            + "'last_resort':['b-id']"), cluster);
        assertEquals("{s0:6701=[0, 1]}", layout(cluster, a).toString());
        assertEquals("{s0:6700=[0, 1, 2]}", layout(cluster, b).toString());
        assertEquals("Headworks: 3 executors on 1 worker, no slot for 1", cluster.getStatus("b-id"));
    }

    /** `a` is to have a slot for each of its two executors, and `b` none; without the answer they would have one each. */
    private static Cluster beside(int priority) {
        TopologyDetails a = topology("a", 1, 1,
            Map.of("topology.ras.one.executor.per.worker", true, "topology.priority", priority));
        Cluster cluster = cluster(supervisors(1, 2), a, topology("b", 1, 1));
        round(answering("'topologies':{'a-id':[['s0',6700,[0,0]],['s0',6701,[1,1]]]},'last_resort':['b-id']"), cluster);
        return cluster;
    }

    @Test
    void placesBeforeATopologyThatTakesMoreSlotsForItsConstraints() {
        Cluster cluster = beside(29);
        assertEquals(Set.of("b-id"), layout(cluster).keySet());
        assertEquals("waits: for its constraints or seats it needs slots that others would have without Headworks",
            cluster.getStatus("a-id"));
    }

    @Test
    void leavesOneThatIsMoreImportantWhereItIs() {
        Cluster cluster = beside(0);
        assertEquals("{a-id={s0:6700=[0], s0:6701=[1]}}", layout(cluster).toString());
        assertEquals("Headworks: 0 executors on 0 workers, no slot for 2", cluster.getStatus("b-id"));
    }

    @Test
    void refusesAnAnswerWhoseListIsNone() {
        TopologyDetails wc = topology("wc", 1, 1);
        Cluster cluster = cluster(supervisors(1, 1), assigned(wc, "s0:6700", tasks(0, 1)), wc);
        round(answering("'last_resort':{'wc-id':1}"), cluster);
        assertTrue(cluster.getStatus("wc-id").contains("last_resort is no list"), cluster.getStatus("wc-id"));
        assertEquals(Map.of(), new Fallback(null).place(cluster, Set.of("wc-id")));
    }
}
