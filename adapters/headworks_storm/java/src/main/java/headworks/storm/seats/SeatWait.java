package headworks.storm.seats;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.storm.policy.IWaitStrategy;
import org.apache.storm.utils.ReflectionUtils;

/**
 * Waits as the topology's own strategy does where a task lives, and parks where none does: a hundred seats that look for
 * tuples each millisecond would take half a core.
 */
public final class SeatWait implements IWaitStrategy {
    /** Key of the configuration with the strategy that the topology asked for. */
    static final String DELEGATE = "headworks.seats.wait";
    /** With more, a tuple for a seat that nobody woke waits longer; with less, idle seats use more processor time. */
    private static final long PARK_NANOS = 100_000_000;
    /** The same of a seat that has been vacant for a while: what was on its way when its task left has come by then. */
    private static final long REST_NANOS = 500_000_000;
    /** Parks after which a seat rests. With fewer, a late tuple waits longer; with more, seats take longer to rest. */
    private static final int PARKS = 100;
    /**
     * Waits after which bolts that are awake look, a millisecond each by default. With more, what they have to know while no
     * tuple comes reaches them later; with less, idle tasks use more processor time.
     */
    private static final int WAITS = 32;
    /** A bolt that has something to do while nothing comes. */
    interface Sleeper {
        /** Whether its executor looks for tuples as often as the topology's own strategy says. */
        boolean awake();

        /** On the executor's thread. */
        void idle();
    }

    /** Bolts whose executor is this thread: Storm makes a strategy before it makes the bolts that it waits for. */
    private static final ThreadLocal<List<Sleeper>> HERE = ThreadLocal.withInitial(ArrayList::new);

    private IWaitStrategy delegate;
    private List<Sleeper> seats;
    private boolean vacant = true;
    private int waits;
    private int parks;

    /** A bolt joins those of this thread. */
    static void join(Sleeper seat) {
        HERE.get().add(seat);
    }

    @Override
    public void prepare(Map<String, Object> conf, WaitSituation situation) {
        delegate = ReflectionUtils.newInstance((String) conf.get(DELEGATE));
        delegate.prepare(conf, situation);
    }

    @Override
    public int idle(int counter) throws InterruptedException {
        if (seats == null) {
            seats = HERE.get();
        }
        if (vacant || ++waits >= WAITS) {
            waits = 0;
            vacant = look();
        }
        if (!vacant) {
            parks = 0;
            return delegate.idle(counter);
        }
        LockSupport.parkNanos(parks < PARKS ? PARK_NANOS : REST_NANOS);
        parks = Math.min(parks + 1, PARKS);
        return counter;
    }

    /** Have all bolts look, and tell whether none of them is awake; false where there are none. */
    private boolean look() {
        boolean none = !seats.isEmpty();
        for (int i = 0; i < seats.size(); i++) {
            Sleeper seat = seats.get(i);
            seat.idle();
            none &= !seat.awake();
        }
        return none;
    }
}
