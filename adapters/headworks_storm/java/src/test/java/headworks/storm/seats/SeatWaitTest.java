package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.apache.storm.policy.IWaitStrategy;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How often executors with seats look, and which of them wait as their topology asked for. */
class SeatWaitTest {
    private static int delegated;

    /** Counts its waits. */
    public static final class Counted implements IWaitStrategy {
        @Override
        public void prepare(Map<String, Object> conf, WaitSituation situation) {
        }

        @Override
        public int idle(int counter) {
            delegated++;
            return counter + 1;
        }
    }

    private static final class Seat implements SeatWait.Sleeper {
        private boolean awake;
        private int looks;

        @Override
        public boolean awake() {
            return awake;
        }

        @Override
        public void idle() {
            looks++;
        }
    }

    @BeforeEach
    void begin() {
        delegated = 0;
    }

    /** Waits of an executor's thread, in which a seat has joined if there is one. */
    private static void waits(int count, Seat seat, Runnable between) throws InterruptedException {
        Thread thread = new Thread(() -> {
            SeatWait waits = new SeatWait();
            waits.prepare(Map.of(SeatWait.DELEGATE, Counted.class.getName()), IWaitStrategy.WaitSituation.BOLT_WAIT);
            if (seat != null) {
                SeatWait.join(seat);
            }
            for (int i = 0; i < count; i++) {
                try {
                    waits.idle(0);
                } catch (InterruptedException ended) {
                    return;
                }
                between.run();
            }
        });
        thread.start();
        thread.join();
    }

    @Test
    void aSeatInWhichATaskLivesLooksAtOnceAndThenEachThirtyTwoWaits() throws InterruptedException {
        Seat seat = new Seat();
        seat.awake = true;
        waits(1 + 2 * 32, seat, () -> { });
        assertEquals(3, seat.looks);
        assertEquals(1 + 2 * 32, delegated);
    }

    @Test
    void aVacantSeatLooksEachTimeItWakesAndIsAwakeWithTheNextLook() throws InterruptedException {
        Seat seat = new Seat();
        waits(4, seat, () -> seat.awake = seat.looks >= 2);
        assertEquals(3, seat.looks);
        assertEquals(2, delegated);
    }

    @Test
    void anExecutorWithoutSeatsWaitsAsItsTopologyAskedFor() throws InterruptedException {
        waits(5, null, () -> { });
        assertEquals(5, delegated);
    }
}
