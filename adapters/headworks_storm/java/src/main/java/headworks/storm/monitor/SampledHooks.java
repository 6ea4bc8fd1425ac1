package headworks.storm.monitor;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.task.TopologyContext;

/**
 * The hooks of a task, of which Headworks's own is told of some events alone: emits, executions and acknowledgements.
 *
 * <p>Storm makes an object for each event of a task that has hooks, which costs more than to count it. It asks for hooks by
 * {@link #isEmpty} before each, in the thread of the executor. So this list says that it is empty, but for one event of each
 * block, at a random place in it, which stands for the whole block ({@link #weight}). What is summed up so is unbiased, and
 * the events of a task are less than a block off. Where others have hooks, too, all hooks are told of everything.
 */
final class SampledHooks extends ArrayList<ITaskHook> {
    /** Events in a second: with up to twice as many a block is one event. */
    static final int TOLD = 4096;
    /** Events: larger blocks would save little, and hide more of a task that slows down. */
    static final int LONGEST = 16;
    private static final long serialVersionUID = 1;
    /** Numbers in a line of a processor's cache, and more. */
    private static final int LINE = 32;

    /** Events from now to the next that is told: it is written at each, away from what other threads read. */
    private final int[] next = new int[2 * LINE];
    /** Events that the one that is told stands for. */
    private int weight = 1;
    private int place = 1;
    private int block = 1;
    /** The reporter's wish for later blocks. */
    private volatile int wanted = 1;
    private volatile boolean closed;
    /** Those that blocks that were told of stand for. */
    private long events;
    /** The reporter's: what it had seen of them. */
    private long seen;
    private final transient SplittableRandom random;

    SampledHooks(List<ITaskHook> others, long seed) {
        super(others);
        this.random = new SplittableRandom(seed);
    }

    /** Has a task ask this list for its hooks; null if this Storm keeps them in another way. */
    static SampledHooks of(TopologyContext context) {
        try {
            Field field = TopologyContext.class.getDeclaredField("hooks");
            field.setAccessible(true);
            SampledHooks own = new SampledHooks(context.getHooks(), context.getThisTaskId());
            field.set(context, own);
            return context.getHooks() == own ? own : null;
        } catch (ReflectiveOperationException | RuntimeException other) {
            return null;
        }
    }

    /** Whether Storm need not make an object of the event that is about to be told. */
    @Override
    public boolean isEmpty() {
        if (size() != 1) {
            weight = 1;
            return super.isEmpty();
        }
        if (--next[LINE] > 0 || closed) {
            return true;
        }
        weight = block;
        events += block;
        int rest = block - place;
        block = wanted;
        place = block == 1 ? 1 : 1 + random.nextInt(block);
        next[LINE] = rest + place;
        return false;
    }

    /** Events that the one which Headworks's hook is told of stands for. */
    int weight() {
        return weight;
    }

    /** Tell Headworks's hook of nothing any more, unless others have hooks. */
    void close() {
        closed = true;
    }

    /** By the reporter: choose blocks by what happened since the last time. */
    void pace(double seconds) {
        long now = events;
        wanted = block((now - seen) / seconds);
        seen = now;
    }

    /** Events in a block of a task with so many of them in a second. */
    static int block(double rate) {
        return (int) Math.max(1, Math.min(LONGEST, rate / TOLD));
    }
}
