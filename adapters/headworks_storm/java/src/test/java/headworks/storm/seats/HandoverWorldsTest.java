package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The hand-over in random interleavings; {@code -Dheadworks.handover.moves} says how many moves of each kind. */
class HandoverWorldsTest {
    private static final int MOVES = Integer.getInteger("headworks.handover.moves", 4_000);
    private static final int STEPS = 1_500;

    private static Verdict run(Rules rules) {
        Verdict all = new Verdict();
        for (long seed = 0; all.moves < MOVES; seed++) {
            all.add(new World(seed, rules).run(STEPS));
        }
        return all;
    }

    private static void assertExact(Verdict verdict) {
        assertEquals(0, verdict.lost + verdict.twice + verdict.stuck + verdict.wrongState, verdict::toString);
        assertEquals(0, verdict.inversions + verdict.disordered, verdict::toString);
        assertTrue(verdict.sent > 10 * verdict.moves && verdict.forwarded > verdict.moves, verdict::toString);
    }

    @Test
    void losesDoublesAndOvertakesNothing() {
        assertExact(run(new Rules()));
    }

    @Test
    void isExactWhereStateCannotBeHandedOver() {
        Rules rules = new Rules();
        rules.refusals = .3;
        Verdict verdict = run(rules);
        assertExact(verdict);
        assertTrue(verdict.kept > verdict.moves / 5, verdict::toString);
    }

    @Test
    void isExactWhereStateCannotBeTaken() {
        Rules rules = new Rules();
        rules.unreadable = .3;
        Verdict verdict = run(rules);
        assertExact(verdict);
        assertTrue(verdict.kept > verdict.moves / 5, verdict::toString);
    }

    @Test
    void losesNothingWhereTooMuchWaitsForAnAnswerThatIsNo() {
        Rules rules = new Rules();
        rules.unreadable = .3;
        rules.most = 1;
        Verdict verdict = run(rules);
        assertEquals(0, verdict.lost + verdict.twice + verdict.stuck, verdict::toString);
        assertTrue(verdict.kept > verdict.moves / 5, verdict::toString);
    }

    @Test
    void losesOnlyWhatTheNetworkDrops() {
        Rules rules = new Rules();
        rules.refusals = .1;
        rules.unreadable = .1;
        rules.drops = .002;
        Verdict verdict = run(rules);
        assertEquals(verdict.dropped, verdict.lost, verdict::toString);
        assertEquals(0, verdict.twice + verdict.stuck + verdict.wrongState, verdict::toString);
        assertTrue(verdict.dropped > 0 && verdict.disordered > 0, verdict::toString);
    }

    @Test
    void orderNeedsMarksOfOldPaths() {
        Rules rules = new Rules();
        rules.markPatience = 0;
        Verdict verdict = run(rules);
        assertEquals(0, verdict.lost + verdict.twice + verdict.stuck, verdict::toString);
        assertTrue(verdict.inversions > verdict.moves / 10, verdict::toString);
    }

    @Test
    void orderNeedsEndsOfOldSeats() {
        Rules rules = new Rules();
        rules.endPatience = 0;
        Verdict verdict = run(rules);
        assertEquals(0, verdict.lost + verdict.twice + verdict.stuck, verdict::toString);
        assertTrue(verdict.inversions > verdict.moves / 10, verdict::toString);
    }

    @Test
    void withoutForwardingTuplesAreLost() {
        Rules rules = new Rules();
        rules.forwarding = false;
        Verdict verdict = run(rules);
        assertTrue(verdict.lost > verdict.moves / 2, verdict::toString);
    }
}
