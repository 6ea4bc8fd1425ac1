package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers that must not be carried out: what runs stays as it is, and executors without a slot are placed by Storm. */
class RefusedTest {
    private final TopologyDetails wc = topology("wc", 2, 2);
    private final TopologyDetails fresh = topology("fresh", 4, 2);
    private final Cluster cluster = cluster(supervisors(4, 2), running(), wc, fresh);

    private Map<String, SchedulerAssignment> running() {
        return assigned(wc, "s0:6700", tasks(0, 1), "s1:6700", tasks(2, 3));
    }

    private void assertHeld(Planner planner, String why) {
        cluster.blacklistHost("h3");
        Script.scheduler(planner).schedule(cluster.getTopologies(), cluster);
        assertEquals("{s0:6700=[0, 1], s1:6700=[2, 3]}", layout(cluster, wc).toString());
        assertTrue(cluster.getUnassignedExecutors(fresh).isEmpty());
        assertEquals("Headworks's answer is refused (" + why + "); running executors are held",
            cluster.getStatus("wc-id"));
        assertEquals("Headworks's answer is refused (" + why + "); running executors are held; "
            + "Storm's EvenScheduler placed 8 unassigned executors", cluster.getStatus("fresh-id"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "[['s0',6700,[0,0,1,1]],['s1',6700,[2,2]]]                 | it leaves out the running executor [3, 3] of wc-id",
        "[['s0',6700,[0,0,1,1,2,2]],['s1',6700,[2,2,3,3]]]         | executor [2, 2] of wc-id is placed twice",
        "[['s0',6700,[0,0,1,1,1,1]],['s1',6700,[2,2,3,3]]]         | executor [1, 1] of wc-id is placed twice",
        "[['s0',6700,[0,0,1,1]],['s0',6700,[2,2,3,3]]]             | s0:6700 is given to wc-id and to wc-id",
        "[['s0',6700,[0,0,1,1]],['s9',6700,[2,2,3,3]]]             | there is no supervisor s9",
        "[['s0',6700,[0,0,1,1]],['s1',6709,[2,2,3,3]]]             | s1:6709 is no slot that can be used",
        "[['s0',6700,[0,0,1,1]],['s3',6700,[2,2,3,3]]]             | host h3 is blacklisted",
        "[['s0',6700,[0,0,1,1]],['s1',6700,[2,2,3,3,4,4]]]         | wc-id has no executor [4, 4]",
        "[['s0',6700,[0,0,1,1]],['s1',6700,[2,3]]]                 | wc-id has no executor [2, 3]",
        "[]                                                        | it leaves out the running executor [0, 0] of wc-id",
        "[['s0',6700,[0,0,1]]]      | the executors of a worker are not a list of starts and ends",
        "[['s0',6700,[]]]           | the executors of a worker are not a list of starts and ends",
        "[['s0',6700,[0,'0']]]      | task is no whole number",
        "[['s0',6700.5,[0,0]]]      | port is no whole number",
        "[['s0',99999999999,[0,0]]] | port is no whole number",
        "[[7,6700,[0,0]]]           | supervisor is no text",
        "[['s0',6700]]              | \"a worker is not [supervisor, port, executors]\"",
        "{}                         | the workers of a topology are no list",
    })
    void workers(String workers, String why) {
        assertHeld(Script.assign("wc-id", workers), why);
    }

    @Test
    void aSlotOfATopologyThatIsLeftOut() {
        assertHeld(Script.assign("fresh-id", "[['s1',6700,[0,0]]]"), "s1:6700 is given to wc-id and to fresh-id");
    }

    @Test
    void halfATopologyThatDoesNotRun() {
        assertHeld(Script.assign("fresh-id", "[['s2',6700,[0,0,1,1]],['s2',6701,[2,2]]]"), "it starts fresh-id with 3 "
            + "of its 8 executors, and a topology starts whole or not at all");
    }

    @Test
    void aSlotForTwoTopologies() {
        assertHeld(Script.mode("assign", "'topologies':{'wc-id':[['s2',6700,[0,0,1,1,2,2,3,3]]],"
            + "'fresh-id':[['s2',6700,[0,0]]]}"), "s2:6700 is given to wc-id and to fresh-id");
    }

    @Test
    void aTopologyThatIsGone() {
        assertHeld(Script.assign("killed-id", "[['s2',6700,[0,0]]]"), "there is no topology killed-id");
    }

    @Test
    void halfWithMoreHeapThanAWorkerMayHave() {
        assertHeld(Script.assign("fresh-id", "[['s2',6700,[0,0,1,1,2,2,3,3,4,4,5,5,6,6]]]"), "it starts fresh-id with 7 "
            + "of its 8 executors, and a topology starts whole or not at all");
    }

    @Test
    void ofMoreHeapThanAWorkerMayHaveTheTopologyAlone() {
        Planner planner = Script.mode("assign", "'topologies':{'wc-id':[['s2',6701,[0,0,1,1]],['s1',6700,[2,2,3,3]]],"
            + "'fresh-id':[['s2',6700,[0,0,1,1,2,2,3,3,4,4,5,5,6,6]],['s3',6700,[7,7]]]}");
        Script.scheduler(planner).schedule(cluster.getTopologies(), cluster);
        assertEquals("{s1:6700=[2, 3], s2:6701=[0, 1]}", layout(cluster, wc).toString());
        assertTrue(cluster.getUnassignedExecutors(fresh).isEmpty());
        assertEquals("Headworks: 8 executors on 2 workers; Storm's EvenScheduler placed 8 executors by slots alone",
            cluster.getStatus("fresh-id"));
    }

    @Test
    void anotherRound() {
        assertHeld(Script.edited("assign", "", answer -> answer.put("round", 0)), "it is for another round");
    }

    @Test
    void anotherNimbus() {
        assertHeld(Script.edited("hold", "", answer -> answer.put("nimbus", "n")), "it is for another Nimbus");
    }

    @Test
    void anotherVersion() {
        assertHeld(Script.edited("own", "", answer -> answer.put("v", 2)), "it is not of version 1");
    }

    @Test
    void anotherMode() {
        assertHeld(Script.mode("panic", ""), "its mode is none of assign, own and hold");
    }

    @Test
    void aStatusThatIsNoText() {
        assertHeld(Script.mode("assign", "'status':{'wc-id':7}"), "status of wc-id is no text");
    }

    @Test
    void noAnswerAtAll() {
        assertHeld(Script.raw(null), "it is null");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "tru", "{\"v\":1,\"v\":1}", "{} {}", "\u0000", "{'v':1}"})
    void garbage(String text) {
        assertHeld(Script.raw(text), "it is no JSON document");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "null", "17"})
    void documentsOfAnotherKind(String text) {
        assertHeld(Script.raw(text), "it is no JSON object");
    }

    @Test
    void bracketsWithoutEnd() {
        assertHeld(Script.raw("[".repeat(1_000_000)), "it is no JSON document");
    }

    @Test
    void aListInPlaceOfTopologies() {
        assertHeld(Script.mode("assign", "'topologies':[]"), "topologies is no object");
    }
}
