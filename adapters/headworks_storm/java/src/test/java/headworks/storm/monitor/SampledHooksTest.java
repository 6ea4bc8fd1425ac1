package headworks.storm.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.junit.jupiter.api.Test;

/** What is counted of a busy task is unbiased in every pattern of events, and exact of any other task. */
class SampledHooksTest {
    private static final int EVENTS = 400_000;
    private static final int KINDS = 8;

    /** Adds up what it is told of, by kind: the stream of an emit. */
    private static final class Sums extends BaseTaskHook {
        final long[] sums = new long[KINDS];
        SampledHooks own;
        int told;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            own = SampledHooks.of(context);
        }

        @Override
        public void emit(EmitInfo info) {
            sums[Integer.parseInt(info.stream)] += own.weight();
            told++;
        }
    }

    private final TopologyContext context = new TopologyContext(null, new HashMap<>(), Map.of(), Map.of(), Map.of(), Map.of(),
        "t-1", "/code", null, 7, 6700, List.of(7), Map.of(), Map.of(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(),
        new StormMetricRegistry());

    /** As Storm does before each event. */
    private void emit(int kind) {
        if (!context.getHooks().isEmpty()) {
            new EmitInfo(List.of(), Integer.toString(kind), 7, List.of()).applyOn(context);
        }
    }

    private Sums hooked() {
        Sums hook = new Sums();
        context.addTaskHook(hook);
        return hook;
    }

    /** Has the hook told of one event in so many, from the next block on. */
    private void busy(Sums hook, int block) {
        for (int i = 0; i < block * SampledHooks.TOLD; i++) {
            emit(0);
        }
        hook.own.pace(1);
        emit(0);
        Arrays.fill(hook.sums, 0);
        hook.told = 0;
    }

    @Test
    void aTaskWithFewEventsIsToldOfAll() {
        Sums hook = hooked();
        for (int second = 0; second < 10; second++) {
            for (int i = 0; i < 2 * SampledHooks.TOLD - 1; i++) {
                emit(i % KINDS);
            }
            hook.own.pace(1);
        }
        assertEquals(10 * (2 * SampledHooks.TOLD - 1), hook.told);
        assertEquals(hook.told, Arrays.stream(hook.sums).sum());
    }

    @Test
    void whatStandsForABlockIsUnbiasedInEveryPattern() {
        for (int period = 1; period <= KINDS; period++) {
            Sums hook = hooked();
            busy(hook, SampledHooks.LONGEST);
            for (int i = 0; i < EVENTS; i++) {
                emit(i % period);
            }
            assertEquals(EVENTS / SampledHooks.LONGEST, hook.told, 1);
            assertEquals(EVENTS, Arrays.stream(hook.sums).sum(), SampledHooks.LONGEST);
            for (int kind = 0; kind < period; kind++) {
                double share = EVENTS / (double) period;
                double deviation = SampledHooks.LONGEST * Math.sqrt(share / SampledHooks.LONGEST);
                assertEquals(share, hook.sums[kind], 5 * deviation, period + " kinds in turn, number " + kind);
            }
            context.getHooks().clear();
        }
    }

    @Test
    void blocksFollowHowMuchHappens() {
        assertEquals(1, SampledHooks.block(0));
        assertEquals(1, SampledHooks.block(2 * SampledHooks.TOLD - 1));
        assertEquals(2, SampledHooks.block(2 * SampledHooks.TOLD));
        assertEquals(SampledHooks.LONGEST, SampledHooks.block(1e9));
        Sums hook = hooked();
        busy(hook, 5);
        emitAll(100);
        assertEquals(20, hook.told, 1);
        hook.own.pace(1);
        emitAll(105);
        assertTrue(hook.told >= 20 + 90, "after a quiet second all is told: " + hook.told);
    }

    private void emitAll(int events) {
        for (int i = 0; i < events; i++) {
            emit(1);
        }
    }

    @Test
    void hooksOfOthersAreToldOfAllAndOursCountsEachOnce() {
        Sums hook = hooked();
        busy(hook, SampledHooks.LONGEST);
        List<EmitInfo> heard = new ArrayList<>();
        context.addTaskHook(new BaseTaskHook() {
            @Override
            public void emit(EmitInfo info) {
                heard.add(info);
            }
        });
        emitAll(1000);
        assertEquals(1000, heard.size());
        assertEquals(1000, hook.sums[1]);
    }

    @Test
    void hooksThatWereThereAreKeptAndStormFindsAllAtTheEnd() {
        ITaskHook before = new BaseTaskHook();
        context.addTaskHook(before);
        Sums hook = hooked();
        assertEquals(List.of(before, hook), new ArrayList<>(context.getHooks()));
        assertSame(hook.own, context.getHooks());
    }

    @Test
    void aTaskThatIsNotCountedCostsNoObject() {
        TaskHook hook = new TaskHook();
        context.addTaskHook(hook); // no collector is named
        for (int i = 0; i < 10; i++) {
            assertTrue(context.getHooks().isEmpty());
        }
    }
}
