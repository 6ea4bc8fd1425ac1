package headworks.storm;

import static headworks.storm.Clusters.assigned;
import static headworks.storm.Clusters.cluster;
import static headworks.storm.Clusters.layout;
import static headworks.storm.Clusters.supervisors;
import static headworks.storm.Clusters.tasks;
import static headworks.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.utils.ReflectionUtils;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Mode own: Storm's own scheduler acts exactly as if Headworks were not there. */
class ShadowTest {
    private final TopologyDetails wc = topology("wc", 4, 4);

    /** Uneven, so that the default scheduler restarts workers. */
    private Cluster uneven() {
        return cluster(supervisors(5, 2),
            assigned(wc, "s0:6700", tasks(0, 1, 2, 3, 4), "s1:6700", tasks(5, 6)), wc, topology("fresh", 3, 2));
    }

    @ParameterizedTest
    @ValueSource(classes = {DefaultScheduler.class, EvenScheduler.class, ResourceAwareScheduler.class})
    void actsAsStormAlone(Class<? extends IScheduler> own) {
        Cluster cluster = uneven();
        Cluster alone = uneven();
        IScheduler storm = ReflectionUtils.newInstance(own);
        storm.prepare(Clusters.conf(), new StormMetricsRegistry());
        for (int round = 0; round < 3; round++) {
            Script.scheduler(Script.mode("own", ""), Settings.OWN, own.getName())
                .schedule(cluster.getTopologies(), cluster);
            storm.schedule(alone.getTopologies(), alone);
            assertEquals(layout(alone), layout(cluster));
            assertEquals(alone.getStatusMap().keySet(), cluster.getStatusMap().keySet());
        }
        storm.cleanup();
    }

    @Test
    void goesOnAsStormAloneWhenPythonIsGone() {
        AtomicBoolean gone = new AtomicBoolean();
        HeadworksScheduler scheduler = Script.scheduler(Script.mode("own", "").unless(gone));
        Cluster empty = cluster(supervisors(1, 1));
        scheduler.schedule(empty.getTopologies(), empty);
        gone.set(true);
        assertActsAsStormAlone(scheduler);
    }

    @Test
    void actsAsStormAloneWhenPythonNeverAnswered() {
        AtomicBoolean gone = new AtomicBoolean(true);
        assertActsAsStormAlone(Script.scheduler(Script.mode("own", "").unless(gone), Settings.SHADOW, true));
    }

    private void assertActsAsStormAlone(HeadworksScheduler scheduler) {
        Cluster cluster = uneven();
        Cluster alone = uneven();
        scheduler.schedule(cluster.getTopologies(), cluster);
        new DefaultScheduler().schedule(alone.getTopologies(), alone);
        assertEquals(layout(alone), layout(cluster));
        assertNotEquals(layout(uneven()), layout(cluster));
        assertEquals(Map.of(), cluster.getStatusMap());
    }

    @Test
    void endsWithTheFirstAnswerThatIsNotInShadow() {
        AtomicBoolean gone = new AtomicBoolean();
        HeadworksScheduler scheduler = Script.scheduler(Script.mode("assign", "").unless(gone), Settings.SHADOW, true);
        for (boolean each : new boolean[] {false, true}) {
            gone.set(each);
            Cluster cluster = uneven();
            scheduler.schedule(cluster.getTopologies(), cluster);
            assertTrue(layout(cluster, wc).entrySet().containsAll(layout(uneven(), wc).entrySet()));
        }
    }

    /** As Nimbus does it after each round: it merges, so that a sentence which is gone from a cluster stays. */
    @Test
    void takesBackWhatHeadworksSaid() {
        boolean[] shadow = {false};
        Script assign = Script.mode("assign", "'status':{'wc-id':'7 executors in 2 workers'}");
        Script own = Script.mode("own", "");
        HeadworksScheduler scheduler = Script.scheduler(round -> (shadow[0] ? own : assign).answer(round));
        Map<String, String> shown = new HashMap<>();
        shown.putAll(shownAfter(scheduler, shown));
        assertEquals(Map.of("wc-id", "7 executors in 2 workers", "fresh-id", "Headworks: 0 executors on 0 workers, "
            + "no slot for 6"), shown);
        shown.put("fresh-id", "Fully Scheduled");
        shadow[0] = true;
        for (int round = 0; round < 2; round++) {
            shown.putAll(shownAfter(scheduler, shown));
            assertEquals(Map.of("wc-id", "", "fresh-id", "Fully Scheduled"), shown);
        }
    }

    private Map<String, String> shownAfter(HeadworksScheduler scheduler, Map<String, String> before) {
        Cluster cluster = uneven();
        cluster.setStatusMap(before);
        scheduler.schedule(cluster.getTopologies(), cluster);
        return Utils.merge(before, cluster.getStatusMap());
    }

    @Test
    void restoresTheClusterWhenStormsOwnSchedulerFails() {
        Cluster cluster = uneven();
        Script.scheduler(Script.mode("own", ""), Settings.OWN, FallbackTest.Failing.class.getName())
            .schedule(cluster.getTopologies(), cluster);
        assertEquals(layout(uneven()), layout(cluster));
    }
}
