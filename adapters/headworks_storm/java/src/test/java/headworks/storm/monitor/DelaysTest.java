package headworks.storm.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Steps of latencies: none is more than a sixteenth too small, and what was told is not told again. */
class DelaysTest {
    @Test
    void stepsAreExactBelow64AndASixteenthWideAbove() {
        for (long ms = 0; ms < 2_000_000; ms += 1 + ms / 1000) {
            long least = Delays.least(Delays.index(ms));
            assertTrue(least <= ms, ms + " is told as " + least);
            assertTrue(ms < 64 ? least == ms : ms - least <= ms / 16, ms + " is told as " + least);
        }
    }

    @Test
    void whatNoClockCanSayHasAStepToo() {
        assertEquals(0, Delays.index(-5));
        assertEquals(Delays.index(Long.MAX_VALUE), Delays.index(Long.MAX_VALUE - 1));
    }

    @Test
    void tellsEachTupleOnce() {
        Delays delays = new Delays();
        delays.add(3);
        delays.add(3);
        delays.add(1000);
        StringBuilder first = new StringBuilder();
        delays.tell(7, first);
        assertEquals("[7,3,2],[7,992,1],", first.toString());
        StringBuilder second = new StringBuilder();
        delays.add(3);
        delays.tell(7, second);
        assertEquals("[7,3,1],", second.toString());
    }
}
