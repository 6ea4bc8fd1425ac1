package headgate.storm;

import static headgate.storm.Clusters.assigned;
import static headgate.storm.Clusters.cluster;
import static headgate.storm.Clusters.layout;
import static headgate.storm.Clusters.supervisors;
import static headgate.storm.Clusters.tasks;
import static headgate.storm.Clusters.topology;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.Map;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.resource.ResourceAwareScheduler;
import org.apache.storm.utils.ReflectionUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Mode own: Storm's own scheduler acts exactly as if Headgate were not there. */
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
        boolean[] gone = {false};
        Script own = Script.mode("own", "");
        HeadgateScheduler scheduler = Script.scheduler(round -> {
            if (gone[0]) {
                throw NoPlan.unanswered("connection refused");
            }
            return own.answer(round);
        });
        Cluster empty = cluster(supervisors(1, 1));
        scheduler.schedule(empty.getTopologies(), empty);
        gone[0] = true;
        Cluster cluster = uneven();
        Cluster alone = uneven();
        scheduler.schedule(cluster.getTopologies(), cluster);
        new DefaultScheduler().schedule(alone.getTopologies(), alone);
        assertEquals(layout(alone), layout(cluster));
        assertNotEquals(layout(uneven()), layout(cluster));
        assertEquals(Map.of(), cluster.getStatusMap());
    }

    @Test
    void takesBackWhatHeadgateSaid() {
        Cluster cluster = uneven();
        cluster.setStatus(wc, "Headgate: 8 executors on 2 workers");
        cluster.setStatus("fresh-id", "Fully Scheduled");
        Script.scheduler(Script.mode("own", "")).schedule(cluster.getTopologies(), cluster);
        assertEquals(Map.of("fresh-id", "Fully Scheduled"), cluster.getStatusMap());
    }

    @Test
    void restoresTheClusterWhenStormsOwnSchedulerFails() {
        Cluster cluster = uneven();
        Script.scheduler(Script.mode("own", ""), Settings.OWN, FallbackTest.Failing.class.getName())
            .schedule(cluster.getTopologies(), cluster);
        assertEquals(layout(uneven()), layout(cluster));
    }
}
