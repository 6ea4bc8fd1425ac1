package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;
import org.junit.jupiter.api.Test;

class SnapshotTest {
    private static JsonNode read(Cluster cluster) throws IOException {
        return Script.read(Snapshot.write(cluster, "n", 17, 5000));
    }

    @Test
    void tellsSupervisorsWithTheirRackPortsAndResources() throws IOException {
        Cluster cluster = cluster(supervisors(2, 2));
        cluster.blacklistHost("h1");
        JsonNode round = read(cluster);
        assertEquals("{'v':1,'nimbus':'n','round':17,'timeout':5000,'resort':true,'isolation':{},"
            + "'settings':{'nimbus.monitor.freq.secs':10,'nimbus.task.launch.secs':120,"
            + "'nimbus.task.timeout.secs':30,'supervisor.worker.start.timeout.secs':120},'supervisors':["
            + "{'id':'s0','host':'h0','rack':'/default-rack','ports':[6700,6701],"
            + "'resources':{'cpu.pcore.percent':400.0,'memory.mb':4096.0},'blacklisted':false,'machine':null,'bandwidth':null},"
            + "{'id':'s1','host':'h1','rack':'/default-rack','ports':[6700,6701],"
            + "'resources':{'cpu.pcore.percent':400.0,'memory.mb':4096.0},'blacklisted':true,'machine':null,'bandwidth':null}],'topologies':[]}",
            round.toString().replace('"', '\''));
    }

    @Test
    void tellsTopologiesWithTheirGraphAndAssignment() throws IOException {
        TopologyDetails wc = topology("wc", 2, 3);
        Cluster cluster = cluster(supervisors(1, 2),
            assigned(wc, "s0:6700", tasks(0, 3), "gone:6709", tasks(2)), wc);
        JsonNode told = read(cluster).get("topologies").get(0);
        assertEquals("wc-id", told.get("id").textValue());
        assertEquals(3, told.get("workers").intValue());
        assertEquals(768.0, told.get("heap").doubleValue());
        JsonNode bolt = told.get("components").get(0);
        assertEquals("{'id':'bolt-0','type':'bolt','resources':{'cpu.pcore.percent':10.0,'offheap.memory.mb':0.0,"
            + "'onheap.memory.mb':128.0},'executors':[2,2,3,3],'inputs':[['spout-0','default','local-or-shuffle']]}",
            bolt.toString().replace('"', '\''));
        assertEquals("spout", told.get("components").get(1).get("type").textValue());
        assertEquals("[[\"gone\",6709],[\"s0\",6700]]", told.get("slots").toString());
        assertEquals("[0,1,1,-1]", told.get("assignment").toString());
    }

    @Test
    void sharesOnlyListedKeysAndNoToken() throws IOException {
        TopologyDetails topology = topology("wc", 1, 1, Map.of(
            "headworks.pin", "s0", "headworks.token", "secret", "storm.zookeeper.topology.auth.payload", "secret",
            "topology.headworks.desired.nodes", 4, "topology.worker.timeout.secs", 300, "topology.ras.constraints",
            Map.of("a", List.of("b"))));
        JsonNode conf = read(cluster(supervisors(1, 1), topology)).get("topologies").get(0).get("conf");
        assertEquals("s0", conf.get("headworks.pin").textValue());
        assertEquals(300, conf.get("topology.worker.timeout.secs").intValue());
        assertEquals(4, conf.get("topology.headworks.desired.nodes").intValue());
        assertEquals("{\"a\":[\"b\"]}", conf.get("topology.ras.constraints").toString());
        assertTrue(conf.has("topology.component.cpu.pcore.percent"));
        assertFalse(conf.toString().contains("secret"));
    }

    /** A submitter may write down what no reader of JSON takes, and the round is for the other topologies too. */
    @Test
    void leavesOutWhatIsTooDeepOrTooLarge() throws IOException {
        Object deep = "x";
        for (int i = 0; i < 5000; i++) {
            deep = List.of(deep);
        }
        TopologyDetails topology = topology("wc", 1, 1, Map.of(
            "headworks.pin", deep, "topology.headworks.text", "x".repeat(1 << 20), "topology.ras.constraints",
            Map.of("a", Map.of("incompatibleComponents", List.of("b")))));
        String round = read(cluster(supervisors(1, 1), topology)).get("topologies").get(0).get("conf").toString();
        assertTrue(round.length() < 10_000);
        assertTrue(round.contains("\"headworks.pin\":\"left out: deeper than 8 levels"), round);
        assertTrue(round.contains("\"topology.headworks.text\":\"left out"), round);
        assertTrue(round.contains("{\"a\":{\"incompatibleComponents\":[\"b\"]}}"), round);
    }

    @Test
    void takesTopologiesWithoutExecutors() throws IOException {
        JsonNode told = read(cluster(supervisors(1, 1), topology("empty", 0, 1))).get("topologies").get(0);
        assertEquals("[]", told.get("components").toString());
        assertEquals("[]", told.get("assignment").toString());
    }

    @Test
    void equalClustersGiveEqualStrings() throws IOException {
        TopologyDetails topology = topology("wc", 4, 3);
        Cluster cluster = cluster(supervisors(9, 3), assigned(topology, "s0:6700", tasks(0, 3, 6)), topology);
        assertEquals(read(cluster).toString(), read(new Cluster(cluster)).toString());
    }
}
