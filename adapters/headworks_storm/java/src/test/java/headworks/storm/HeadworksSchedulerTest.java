package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.DaemonConfig;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.utils.ReflectionUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What Nimbus relies on. */
@Timeout(600)
class HeadworksSchedulerTest {
    private final TopologyDetails wc = topology("wc", 2, 2);

    private Cluster running() {
        return cluster(supervisors(2, 2), assigned(wc, "s0:6700", tasks(0, 1, 2, 3)), wc);
    }

    @Test
    void isMadeByNameAndPreparedWithoutPython() {
        IScheduler scheduler = ReflectionUtils.newInstance("headworks.storm.HeadworksScheduler");
        scheduler.prepare(Clusters.conf(), new StormMetricsRegistry());
        assertEquals(Map.of(), scheduler.config());
        scheduler.nodeAssignmentSent("s0", true);
        scheduler.cleanup();
    }

    @Test
    void asksNobodyBeforeTheFirstRound() {
        Script script = Script.mode("assign", "");
        HeadworksScheduler scheduler = Script.scheduler(script);
        scheduler.config();
        assertEquals(0, script.rounds.size());
    }

    @Test
    void needsAnEndpointInStormYaml() {
        HeadworksScheduler scheduler = new HeadworksScheduler();
        scheduler.prepare(Clusters.conf(), new StormMetricsRegistry());
        Cluster cluster = running();
        scheduler.schedule(cluster.getTopologies(), cluster);
        assertEquals("Headworks does not answer (headworks.endpoint is not set in storm.yaml); "
            + "running executors are held", cluster.getStatus("wc-id"));
    }

    @Test
    void letsNothingThrough() {
        List<Throwable> causes = List.of(new IllegalStateException("broken"), new StackOverflowError(),
            new NoClassDefFoundError("py4j/ClientServer"), new AssertionError("no"), new OutOfMemoryError("heap"));
        for (Throwable cause : causes) {
            HeadworksScheduler scheduler = Script.scheduler(round -> thrown(cause));
            Cluster cluster = running();
            scheduler.schedule(cluster.getTopologies(), cluster);
            assertEquals("{s0:6700=[0, 1, 2, 3]}", layout(cluster, wc).toString());
            assertTrue(cluster.getStatus("wc-id").contains(cause.getClass().getSimpleName()));
            scheduler.cleanup();
        }
    }

    @Test
    void survivesMisuse() {
        HeadworksScheduler scheduler = new HeadworksScheduler();
        Cluster cluster = running();
        scheduler.schedule(cluster.getTopologies(), cluster);
        scheduler.cleanup();
        scheduler.prepare(null, null);
        scheduler.schedule(null, null);
        assertEquals("{s0:6700=[0, 1, 2, 3]}", layout(cluster, wc).toString());
    }

    @Test
    void schedulesWhateverCannotBePrepared() {
        StormMetricsRegistry taken = new StormMetricsRegistry();
        taken.registerTimer("headworks:num-rounds-planned");
        Map<String, Object> conf = Clusters.conf();
        conf.put(Settings.ENDPOINT, "no\0path");
        IScheduler unbridged = new HeadworksScheduler(settings -> {
            throw new NoClassDefFoundError("headworks/storm/Python");
        });
        for (IScheduler scheduler : List.of(new HeadworksScheduler(), unbridged)) {
            Cluster cluster = cluster(supervisors(2, 2), wc);
            scheduler.prepare(conf, taken);
            scheduler.schedule(cluster.getTopologies(), cluster);
            assertTrue(cluster.getUnassignedExecutors(wc).isEmpty());
            assertTrue(cluster.getStatus("wc-id").startsWith("Headworks"));
            scheduler.cleanup();
        }
    }

    @Test
    void survivesAClusterThatFails() {
        Cluster broken = new Cluster(running()) {
            @Override
            public void updateFrom(Cluster other) {
                throw new IllegalStateException("cannot");
            }
        };
        Script.scheduler(Script.assign("wc-id", "[['s1',6700,[0,0,1,1,2,2,3,3]]]"))
            .schedule(broken.getTopologies(), broken);
        assertEquals("{s0:6700=[0, 1, 2, 3]}", layout(broken, wc).toString());
    }

    @Test
    void putsAHalfChangedClusterBack() {
        boolean[] failed = {false};
        Cluster cluster = new Cluster(running()) {
            @Override
            public void assign(WorkerSlot slot, String id, Collection<ExecutorDetails> executors) {
                if (slot.getNodeId().equals("s1") && !failed[0]) {
                    failed[0] = true;
                    throw new IllegalStateException("once");
                }
                super.assign(slot, id, executors);
            }
        };
        Script.scheduler(Script.assign("wc-id", "[['s0',6700,[0,0]],['s1',6700,[1,1,2,2,3,3]]]"))
            .schedule(cluster.getTopologies(), cluster);
        assertTrue(failed[0]);
        assertEquals("{s0:6700=[0, 1, 2, 3]}", layout(cluster, wc).toString());
    }

    @Test
    void handsAnInterruptOnAndChangesNothing() throws InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        HeadworksScheduler scheduler = Script.scheduler(round -> {
            asked.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                return "";
            }
            return "";
        });
        Cluster cluster = cluster(supervisors(2, 2), wc);
        AtomicBoolean flag = new AtomicBoolean();
        Thread timer = new Thread(() -> {
            scheduler.schedule(cluster.getTopologies(), cluster);
            flag.set(Thread.currentThread().isInterrupted());
        });
        timer.start();
        asked.await();
        timer.interrupt();
        timer.join(300_000);
        assertTrue(flag.get());
        assertEquals(Map.of(), layout(cluster));
    }

    @Test
    void saysANewStatusOnce() {
        List<String> said = new ArrayList<>();
        Cluster cluster = new Cluster(running()) {
            @Override
            public void setStatus(String id, String text) {
                said.add(text);
                super.setStatus(id, text);
            }
        };
        AtomicBoolean down = new AtomicBoolean();
        HeadworksScheduler scheduler = Script.scheduler(Script.mode("assign", "").unless(down));
        for (int round = 0; round < 6; round++) {
            down.set(round < 3);
            scheduler.schedule(cluster.getTopologies(), cluster);
        }
        assertEquals(List.of("Headworks does not answer (connection refused); running executors are held",
            "Headworks: 4 executors on 1 worker"), said);
    }

    @Test
    void holdsWhenHeadworksSaysSo() {
        Cluster cluster = cluster(supervisors(2, 2), wc);
        Script.scheduler(Script.mode("hold", "'reason':'no topology fits'")).schedule(cluster.getTopologies(), cluster);
        assertEquals("Headworks holds (no topology fits); running executors are held; "
            + "Storm's EvenScheduler placed 4 unassigned executors", cluster.getStatus("wc-id"));
    }

    @Test
    void takesAnEmptyCluster() {
        Cluster cluster = cluster(supervisors(0, 0), topology("empty", 0, 1));
        Script.scheduler(Script.assign("empty-id", "[]")).schedule(cluster.getTopologies(), cluster);
        assertEquals("Headworks: 0 executors on 0 workers", cluster.getStatus("empty-id"));
        Cluster none = cluster(supervisors(0, 0));
        Script.scheduler(Script.mode("hold", "")).schedule(new Topologies(), none);
        assertFalse(none.getStatusMap().containsKey("empty-id"));
    }

    @Test
    void waitsLessThanARound() {
        Map<String, Object> conf = new HashMap<>(Map.of(DaemonConfig.NIMBUS_MONITOR_FREQ_SECS, 3));
        assertEquals(2700, Settings.of(conf).timeout);
        conf.put(Settings.TIMEOUT, 1500);
        assertEquals(1500, Settings.of(conf).timeout);
        conf.put(Settings.TIMEOUT, -1);
        assertEquals(Settings.LEAST_TIMEOUT, Settings.of(conf).timeout);
        conf.put(Settings.TIMEOUT, "soon");
        assertEquals(2700, Settings.of(conf).timeout);
    }

    @Test
    void countsInNimbussOwnMetrics() {
        StormMetricsRegistry metrics = new StormMetricsRegistry();
        Script script = Script.assign("wc-id", "[['s1',6700,[0,0,1,1,2,2,3,3]]]");
        HeadworksScheduler scheduler = new HeadworksScheduler(settings -> script);
        scheduler.prepare(Clusters.conf(), metrics);
        Cluster cluster = running();
        scheduler.schedule(cluster.getTopologies(), cluster);
        scheduler.schedule(cluster.getTopologies(), cluster);
        assertEquals(2, metrics.getMeter("headworks:num-rounds-planned").getCount());
        assertEquals(1, metrics.getMeter("headworks:num-workers-started").getCount());
        assertEquals(0, metrics.getMeter("headworks:num-rounds-held").getCount());
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> String thrown(Throwable cause) throws E {
        throw (E) cause;
    }
}
