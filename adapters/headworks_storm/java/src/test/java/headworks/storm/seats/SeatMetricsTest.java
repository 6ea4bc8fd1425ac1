package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.Config;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metric.api.CountMetric;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metric.api.MeanReducer;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One seat to which a task comes several times; its executor is Storm's, and is told of once. */
class SeatMetricsTest {
    private static final int SHORT = 10;

    private final StormMetricRegistry registry = new StormMetricRegistry();
    private final Map<Integer, Map<Integer, Map<String, IMetric>>> older = new HashMap<>();
    private final AtomicBoolean begun = new AtomicBoolean();
    private TopologyContext physical;
    private SeatWorker worker;
    private int seat;

    @BeforeEach
    void seat() throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new TestWordSpout(), 1);
        builder.setBolt("count", new TestWordCounter(), 2).fieldsGrouping("source", new Fields("word"));
        Map<String, Object> asked = Map.of(Transform.MOVABLE, "count=stateless", Config.TOPOLOGY_WORKERS, 2);
        Seated made = Seated.seated(builder.createTopology(), asked);
        seat = made.tasks.get("count").get(1);
        physical = made.task(seat, older, begun, registry);
        worker = SeatWorker.of(physical);
    }

    private Map<String, IMetric> told(int seconds) {
        return older.get(seconds).getOrDefault(seat, Map.of());
    }

    private Set<String> names() {
        return new TreeSet<>(registry.getRegistry().getNames());
    }

    /** What Storm tells consumers of the newer interface, by the short name. */
    private Set<String> shown() {
        Set<String> found = new TreeSet<>();
        found.addAll(registry.getTaskCounters(seat).keySet());
        found.addAll(registry.getTaskGauges(seat).keySet());
        found.addAll(registry.getTaskMeters(seat).keySet());
        found.addAll(registry.getTaskTimers(seat).keySet());
        found.addAll(registry.getTaskHistograms(seat).keySet());
        return found;
    }

    @SuppressWarnings("deprecation") // the older interface, in Storm
    private SeatContext life(CountMetric count) {
        SeatContext context = new SeatContext(worker, physical);
        assertSame(count, context.registerMetric("old", count, SHORT));
        context.registerMetric("mean", new MeanReducer(), SHORT);
        assertSame(count, context.getRegisteredMetricByName("old"));
        assertThrows(RuntimeException.class, () -> context.registerMetric("old", new CountMetric(), SHORT));
        context.registerCounter("counter").inc();
        context.registerGauge("gauge", () -> 1);
        context.registerMeter("meter");
        context.registerTimer("timer");
        context.registerHistogram("histogram");
        context.registerMetricSet("set", () -> Map.<String, Metric>of("one", new Counter(), "two", (Gauge<Integer>) () -> 2));
        context.prepared();
        assertThrows(RuntimeException.class, () -> context.registerMetric("late", new CountMetric(), SHORT));
        return context;
    }

    @Test
    void aTaskRegistersAllItsMetricsEachTimeItComesAndTheyGoWithIt() {
        SeatMetrics.expect(physical);
        begun.set(true); // nobody lives here when Storm begins to tell of metrics
        Set<String> before = names();
        for (int i = 0; i < 3; i++) {
            CountMetric count = new CountMetric();
            SeatContext context = life(count);
            assertSame(count, told(60).get("old"));
            assertTrue(told(60).containsKey("mean"));
            assertEquals(Set.of(60), older.keySet()); // of no other bucket Storm would tell
            assertEquals(before.size() + 7, names().size());
            assertEquals(Set.of("counter", "gauge", "histogram", "meter", "set.one", "set.two", "timer"), shown());
            context.leave();
            assertEquals(before, names());
            assertEquals(Set.of(), shown());
            assertEquals(Map.of(), told(60));
        }
    }

    @Test
    void whereATaskBeginsItsMetricsHaveTheirOwnBucketAlsoWhenItComesBack() {
        SeatMetrics.expect(physical);
        CountMetric count = new CountMetric();
        SeatContext context = life(count);
        begun.set(true);
        assertSame(count, told(SHORT).get("old"));
        context.leave();
        assertEquals(Map.of(), told(SHORT));
        CountMetric again = new CountMetric();
        life(again);
        assertSame(again, told(SHORT).get("old"));
    }

    @Test
    void whatIsTriedBesideATaskReachesNobody() {
        SeatMetrics.expect(physical);
        CountMetric count = new CountMetric();
        life(count);
        Set<String> before = names();
        SeatContext apart = SeatContext.apart(worker, physical);
        apart.registerCounter("counter").inc();
        apart.setExecutorData("data", 1);
        apart.addTaskHook(new BaseTaskHook());
        assertEquals(1, apart.getExecutorData("data"));
        assertEquals(null, physical.getExecutorData("data"));
        assertEquals(List.of(), physical.getHooks());
        apart.leave();
        apart.end();
        assertEquals(before, names());
        assertSame(count, told(SHORT).get("old"));
    }

    @Test
    void aHookHearsOfNothingOnceItsTaskHasLeft() {
        List<String> heard = new ArrayList<>();
        SeatContext context = new SeatContext(worker, physical);
        context.addTaskHook(new BaseTaskHook() {
            @Override
            public void emit(EmitInfo info) {
                heard.add(info.stream);
            }

            @Override
            public void cleanup() {
                heard.add("cleaned up");
            }
        });
        new EmitInfo(List.of(), "one", seat, List.of()).applyOn(physical);
        context.leave();
        context.end();
        new EmitInfo(List.of(), "two", seat, List.of()).applyOn(physical);
        assertEquals(List.of("one", "cleaned up"), heard);
    }
}
