package headworks.storm;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/**
 * Tells the priority manager when a bolt has nothing left to do, by the tick tuples between which no other tuple came: as
 * the topologies of Chakraborty's thesis do (section 3.3), and for bolts that cannot say how many tuples they hold.
 *
 * <p>A bolt makes one in {@code prepare}, and begins its {@code execute} with {@code if (ticks.isTick(tuple))}. It is taken to
 * hold something until so many ticks in a row have come with no other tuple before them. It takes the place of a gauge
 * {@code headworks-held} of the bolt's own, whose name it has.
 */
public final class QuietTicks {
    private final int enough;
    private boolean quiet;
    // Storm's reporter reads it in a thread of its own.
    private volatile int ticks;

    /**
     * Counts for a bolt, in the thread of its task.
     *
     * @param conf as {@code prepare} has it; the bolt has ticks by {@code topology.tick.tuple.freq.secs}
     * @param context as {@code prepare} has it
     * @param enough ticks without another tuple after which the bolt is empty, 1 or more: with 1, what it holds is done with
     *     when the second tick has come
     * @throws IllegalArgumentException if the bolt has no ticks, or {@code enough} is less than 1
     */
    public QuietTicks(Map<String, Object> conf, TopologyContext context, int enough) {
        this(conf, enough);
        context.registerGauge("headworks-held", this::held);
    }

    QuietTicks(Map<String, Object> conf, int enough) {
        if (enough < 1) {
            throw new IllegalArgumentException(enough + " ticks are not enough to tell that no tuple came: 1 or more");
        }
        if (!(conf.get(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS) instanceof Number)) {
            throw new IllegalArgumentException("this bolt has no ticks to count: say " + Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS
                    + " in its component's configuration");
        }
        this.enough = enough;
    }

    /**
     * Whether a tuple is a tick; each tuple of the bolt is to be asked once.
     *
     * @param tuple as {@code execute} has it
     */
    public boolean isTick(Tuple tuple) {
        boolean tick = Constants.SYSTEM_COMPONENT_ID.equals(tuple.getSourceComponent())
                && Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId());
        if (!tick) {
            ticks = 0;
        } else if (quiet) {
            ticks = Math.min(enough, ticks + 1);
        }
        quiet = tick;
        return tick;
    }

    /** 1 while the bolt may hold something, else 0. */
    int held() {
        return ticks < enough ? 1 : 0;
    }
}
