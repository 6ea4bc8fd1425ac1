package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.junit.jupiter.api.Test;

/** Answers that are carried out. */
class AssignTest {
    private final TopologyDetails wc = topology("wc", 3, 3);

    private static void schedule(Planner planner, Cluster cluster) {
        Script.scheduler(planner).schedule(cluster.getTopologies(), cluster);
    }

    @Test
    void placesANewTopology() {
        Cluster cluster = cluster(supervisors(2, 2), wc);
        schedule(Script.assign("wc-id", "[['s0',6700,[0,0,1,1,2,2]],['s1',6701,[3,3,4,4,5,5]]]"), cluster);
        assertEquals("{s0:6700=[0, 1, 2], s1:6701=[3, 4, 5]}", layout(cluster, wc).toString());
        assertEquals(384.0, cluster.getWorkerResources(Clusters.slot("s0:6700")).get_mem_on_heap());
        assertEquals("Headworks: 6 executors on 2 workers", cluster.getStatus("wc-id"));
    }

    @Test
    void leavesEqualSlotsInTheirOrderAlone() {
        Cluster cluster = cluster(supervisors(3, 2),
            assigned(wc, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3), "s2:6700", tasks(4, 5)), wc);
        SchedulerAssignment before = cluster.getAssignmentById("wc-id");
        schedule(Script.assign("wc-id", "[['s2',6700,[5,5,4,4]],['s1',6700,[3,3,2,2]],['s0',6700,[1,1,0,0]]]"), cluster);
        assertSame(before, cluster.getAssignmentById("wc-id"));
    }

    @Test
    void swapsTwoSlotsAndLeavesTheThird() {
        Cluster cluster = cluster(supervisors(3, 1),
            assigned(wc, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3), "s2:6700", tasks(4, 5)), wc);
        schedule(Script.assign("wc-id", "[['s0',6700,[2,2,3,3]],['s1',6700,[0,0,1,1]],['s2',6700,[4,4,5,5]]]"), cluster);
        assertEquals("{s0:6700=[2, 3], s1:6700=[0, 1], s2:6700=[4, 5]}", layout(cluster, wc).toString());
    }

    @Test
    void givesASlotFromOneTopologyToAnother() {
        TopologyDetails other = topology("other", 1, 1);
        Map<String, SchedulerAssignment> now = assigned(wc, "s0:6700", tasks(0, 1, 2, 3, 4, 5));
        now.putAll(assigned(other, "s1:6700", tasks(0, 1)));
        Cluster cluster = cluster(supervisors(2, 1), now, wc, other);
        schedule(Script.mode("assign", "'topologies':{'wc-id':[['s1',6700,[0,0,1,1,2,2,3,3,4,4,5,5]]],"
            + "'other-id':[['s0',6700,[0,0,1,1]]]}"), cluster);
        assertEquals("{other-id={s0:6700=[0, 1]}, wc-id={s1:6700=[0, 1, 2, 3, 4, 5]}}", layout(cluster).toString());
    }

    @Test
    void keepsTopologiesThatAreLeftOutAndExecutorsThatHadNoSlot() {
        TopologyDetails other = topology("other", 1, 1);
        Map<String, SchedulerAssignment> now = assigned(wc, "s0:6700", tasks(0));
        now.putAll(assigned(other, "gone:6700", tasks(0, 1)));
        Cluster cluster = cluster(supervisors(2, 2), now, wc, other);
        schedule(Script.assign("wc-id", "[['s0',6700,[0,0]],['s1',6700,[1,1]]]"), cluster);
        assertEquals("{other-id={gone:6700=[0, 1]}, wc-id={s0:6700=[0], s1:6700=[1]}}", layout(cluster).toString());
        assertEquals("Headworks: 2 executors on 2 workers, no slot for 4", cluster.getStatus("wc-id"));
    }

    @Test
    void keepsAWorkerWhereNoNewOneMayGo() {
        TopologyDetails fat = topology("fat", 4, 1);
        Cluster cluster = cluster(supervisors(2, 1),
            assigned(fat, "s0:6700", tasks(0, 1, 2, 3, 4, 5, 6)), fat);
        cluster.blacklistHost("h0");
        schedule(Script.assign("fat-id", "[['s0',6700,[0,0,1,1,2,2,3,3,4,4,5,5,6,6]],['s1',6700,[7,7]]]"), cluster);
        assertEquals("{s0:6700=[0, 1, 2, 3, 4, 5, 6], s1:6700=[7]}", layout(cluster, fat).toString());
    }

    @Test
    void startsWhatHasNoSlotOnABlacklistedHostAndMovesNothingThere() {
        Cluster cluster = cluster(supervisors(2, 1), assigned(wc, "s0:6700", tasks(0, 1)), wc);
        cluster.blacklistHost("h1");
        schedule(Script.assign("wc-id", "[['s0',6700,[0,0]],['s1',6700,[1,1,2,2,3,3]]]"), cluster);
        assertEquals("{s0:6700=[0, 1]}", layout(cluster, wc).toString());
        assertTrue(cluster.getStatus("wc-id").startsWith("Headworks's answer is refused (host h1 is blacklisted)"));
        schedule(Script.assign("wc-id", "[['s0',6700,[0,0,1,1]],['s1',6700,[2,2,3,3]]]"), cluster);
        assertEquals("{s0:6700=[0, 1], s1:6700=[2, 3]}", layout(cluster, wc).toString());
    }

    @Test
    void saysWhatTheAnswerSays() {
        Cluster cluster = cluster(supervisors(1, 1), wc);
        schedule(Script.mode("assign", "'status':{'wc-id':'Headworks: nothing fits (dstorm)','killed-id':'x'}"), cluster);
        assertEquals(Map.of("wc-id", "Headworks: nothing fits (dstorm)"), cluster.getStatusMap());
    }

    @Test
    void saysALineOfBoundedLengthWhateverTheAnswerSays() {
        Cluster cluster = cluster(supervisors(1, 1), wc);
        schedule(Script.mode("assign", "'status':{'wc-id':'a\\n2026 INFO b" + "c".repeat(1 << 20) + "'}"), cluster);
        String said = cluster.getStatus("wc-id");
        assertTrue(said.startsWith("a 2026 INFO bcc") && said.endsWith("c..."));
        assertEquals(1003, said.length());
    }

    @Test
    void tellsARoundNumberAndTheSameNimbusEachTime() {
        Script script = Script.mode("assign", "");
        HeadworksScheduler scheduler = Script.scheduler(script);
        Cluster cluster = cluster(supervisors(1, 1), wc);
        scheduler.schedule(cluster.getTopologies(), cluster);
        scheduler.schedule(cluster.getTopologies(), cluster);
        assertEquals(List.of(1, 2), List.of(script.rounds.get(0).get("round").intValue(),
            script.rounds.get(1).get("round").intValue()));
        assertEquals(script.rounds.get(0).get("nimbus"), script.rounds.get(1).get("nimbus"));
        assertTrue(script.rounds.get(0).get("nimbus").textValue().length() > 20);
    }
}
