package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The hand-over while workers die, at each step of a move; {@code -Dheadworks.handover.worlds} says how often each. */
class HandoverDeathsTest {
    private static final int WORLDS = Integer.getInteger("headworks.handover.worlds", 6);
    /** A move is over by then in nearly all worlds. */
    private static final int AFTER = 150;
    private static final int STEPS = 400;
    /** Worlds in which a missing guard shows itself. */
    private static final int ENOUGH = 20_000;

    private static Verdict run(World.Role role, Rules rules) {
        Verdict all = new Verdict();
        for (int after = 0; after < AFTER; after++) {
            for (int world = 0; world < WORLDS; world++) {
                all.add(new World(1_000L * after + world, rules).killing(role, after).run(STEPS));
            }
        }
        return all;
    }

    private static Verdict anybody(Rules rules, long seed) {
        rules.deaths = .003;
        rules.refusals = .2;
        rules.unreadable = .2;
        return new World(seed, rules).run(1_500);
    }

    private static int faults(Verdict verdict) {
        return verdict.shared + verdict.ownerless + verdict.stuck + verdict.twice + verdict.silent + verdict.wasted + verdict.wrongState;
    }

    private static void assertSound(Verdict verdict) {
        assertEquals(0, faults(verdict), verdict::toString);
        assertTrue(verdict.deaths > 0, verdict::toString);
    }

    @ParameterizedTest
    @EnumSource(World.Role.class)
    void oneOwnerIsLeftWhoeverDiesInAMove(World.Role role) {
        Verdict verdict = run(role, new Rules());
        assertSound(verdict);
        if (role == World.Role.UPSTREAM) {
            assertEquals(0, verdict.harmed, verdict::toString);
        } else { // lost where it was the only one, and not elsewhere
            assertTrue(verdict.harmed > 0 && verdict.harmed < AFTER * WORLDS, verdict::toString);
        }
    }

    @Test
    void oneOwnerIsLeftWhereWorkersDieAllTheTimeAndStateCannotBeHadSometimes() {
        Verdict verdict = new Verdict();
        for (long seed = 0; seed < 25L * WORLDS; seed++) {
            verdict.add(anybody(new Rules(), seed));
        }
        assertSound(verdict);
        assertTrue(verdict.kept > 0 && verdict.losses > 0, verdict::toString);
    }

    @ParameterizedTest
    @EnumSource(World.Role.class)
    void oneOwnerIsLeftWhoeverDiesWhileATaskThatCannotBeTakenIsTakenBack(World.Role role) {
        Rules rules = new Rules();
        rules.unreadable = .5;
        assertSound(run(role, rules));
    }

    private static Verdict deadly(Rules rules, long worlds) {
        Verdict all = new Verdict();
        rules.deadly = 1;
        for (long seed = 0; seed < worlds; seed++) {
            all.add(new World(seed, rules).run(STEPS));
        }
        return all;
    }

    /** A move ends two workers on average, as the giver is told late here. */
    @Test
    void aStateThatEndsWhoTakesItStaysWhereItIs() {
        Verdict verdict = deadly(new Rules(), 25L * WORLDS);
        assertSound(verdict);
        assertTrue(verdict.kept > 0 && verdict.deaths < 3 * verdict.moves, verdict::toString);
        Rules without = new Rules();
        without.without.add(Rules.Guard.REVOKE);
        Verdict endless = deadly(without, 1);
        assertTrue(endless.deaths > 10 * endless.moves, endless::toString);
    }

    @Test
    void oneOwnerIsLeftWhereTheOldOneNeverComesBack() {
        Rules rules = new Rules();
        rules.revive = false;
        assertSound(run(World.Role.OLD, rules));
    }

    @ParameterizedTest
    @EnumSource(value = Rules.Guard.class, mode = EnumSource.Mode.EXCLUDE,
        names = {"REVOKE", "WRITE_AGAIN", "ENTER_WHAT_IS_KNOWN", "WAIT_FOR_UNKNOWN_OWNERS", "WAIT_FOR_OWNERS_TO_SAY"})
    void eachGuardIsNeeded(Rules.Guard guard) {
        Rules rules = new Rules();
        rules.without.add(guard);
        rules.revive = guard != Rules.Guard.DESPAIR;
        Verdict verdict = new Verdict();
        for (long seed = 0; faults(verdict) == 0 && seed < ENOUGH; seed++) {
            verdict.add(rules.revive ? anybody(rules, seed) : new World(seed, rules).killing(World.Role.OLD, 10).run(STEPS));
        }
        assertTrue(faults(verdict) > 0, verdict::toString);
    }
}
