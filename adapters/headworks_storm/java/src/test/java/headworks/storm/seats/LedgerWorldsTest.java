package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The ledger in random interleavings: several who order moves and take orders back, pages that are lost, workers that read late,
 * and workers that die; {@code -Dheadworks.ledger.worlds} says how many worlds of each kind.
 */
class LedgerWorldsTest {
    private static final int WORLDS = Integer.getInteger("headworks.ledger.worlds", 200);
    private static final int STEPS = 1_500;
    /** Worlds in which a missing guard shows itself. */
    private static final int ENOUGH = 20_000;

    /** Worlds of which all pages are written down, for who has the schema of pages. */
    private static final int SHOWN = 5;
    private static final Set<String> PAGES = new TreeSet<>();

    @AfterAll
    static void writePages() throws IOException {
        Files.write(Path.of("target", "ledger-pages"), PAGES);
    }

    private static Rules ordered(double losses, double deaths) {
        Rules rules = new Rules();
        rules.ordered = true;
        rules.losses = losses;
        rules.deaths = deaths;
        rules.refusals = .1;
        rules.unreadable = .1;
        return rules;
    }

    private static int faults(Verdict verdict) {
        return verdict.shared + verdict.ownerless + verdict.stuck + verdict.twice + verdict.silent + verdict.wasted;
    }

    private static Verdict run(double losses, double deaths) {
        Verdict all = new Verdict();
        for (long seed = 0; seed < WORLDS; seed++) {
            boolean shown = seed < SHOWN;
            all.add(new World(seed, ordered(losses, deaths)).showing(page -> {
                if (shown) {
                    PAGES.add(page.json());
                }
            }).run(STEPS));
        }
        assertEquals(0, faults(all), all::toString);
        assertTrue(all.moves > WORLDS && all.conflicts > 0, all::toString);
        return all;
    }

    @Test
    void ordersThatRaceMoveATaskOnceAndBreakNothing() {
        Verdict verdict = run(0, 0);
        assertEquals(0, verdict.lost + verdict.wrongState + verdict.inversions + verdict.disordered, verdict::toString);
    }

    @Test
    void aPageThatIsLostCostsNoState() {
        Verdict verdict = run(.004, 0);
        assertEquals(0, verdict.lost + verdict.wrongState + verdict.losses, verdict::toString);
        assertTrue(verdict.pages > WORLDS, verdict::toString);
    }

    @Test
    void oneOwnerIsLeftWhereWorkersDieAndPagesAreLost() {
        Verdict verdict = run(.002, .002);
        assertTrue(verdict.deaths > WORLDS && verdict.pages > WORLDS && verdict.losses > 0, verdict::toString);
    }

    @ParameterizedTest
    @EnumSource(value = Rules.Guard.class, names = {"WRITE_AGAIN", "ENTER_WHAT_IS_KNOWN", "WAIT_FOR_UNKNOWN_OWNERS",
        "WAIT_FOR_OWNERS_TO_SAY"})
    void eachGuardOfPagesIsNeeded(Rules.Guard guard) {
        Verdict verdict = new Verdict();
        for (long seed = 0; faults(verdict) == 0 && seed < ENOUGH; seed++) {
            Rules rules = ordered(.01, .002);
            rules.without.add(guard);
            verdict.add(new World(seed, rules).run(STEPS));
        }
        assertTrue(faults(verdict) > 0, verdict::toString);
    }
}
