package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LedgerPageTest {
    private final LedgerPage first = LedgerPage.first(Table.of(10, 13));

    private static LedgerPage ordered(int seat, long epoch) {
        return LedgerPage.read("{\"owners\":[[10,0,10,\"\"],[13,0,13,\"\"]],\"wanted\":{\"1\":[" + seat + "," + epoch
            + "]},\"refused\":{},\"lost\":{}}");
    }

    @Test
    void isReadAsItWasWritten() {
        LedgerPage page = LedgerPage.read(first.enter(1, 12, 1, "x").refuse(0, 1, "it \"cannot\"").json());
        assertArrayEquals(new int[] {10, 12}, page.table.seats());
        assertEquals(1, page.table.epoch(1));
        assertEquals(13, page.entry(1).holder);
        assertTrue(page.json().contains("cannot"));
    }

    @Test
    void howManyTasksWorkStaysSaidWhateverElseChanges() {
        assertEquals(2, first.table.working(), "all of them, as nobody has said anything");
        LedgerPage page = LedgerPage.read(first.json().replace("\"working\":[]", "\"working\":[1,7]"));
        assertEquals(1, page.table.working());
        page = page.start(1, 13, "a", true).enter(1, 12, 1, "x").release(1, 13).refuse(0, 1, "no").keep(1, 12, 2, "x");
        assertEquals(1, LedgerPage.read(page.json()).table.working());
        assertEquals(7, page.table.order());
    }

    @Test
    void anOwnerIsEnteredOnce() {
        LedgerPage page = first.enter(1, 12, 1, "x");
        assertSame(page, page.enter(1, 13, 1, "x"), "an ownership of that number is there");
        assertEquals(12, page.enter(1, 13, 2, "x").entry(1).holder);
    }

    @Test
    void aTaskThatStaysIsEnteredOnceWithTheReason() {
        LedgerPage page = first.enter(1, 12, 1, "x").stay(1, 13, 2, "y", "no heap there");
        assertEquals(13, page.entry(1).holder);
        assertTrue(page.json().contains("\"refused\":{\"1\":[1,\"no heap there\"]}"), page.json());
        assertSame(page, page.stay(1, 13, 2, "y", "another reason"));
    }

    @Test
    void anOrderIsGoodForTheNextOwnershipOnly() {
        LedgerPage page = ordered(12, 1);
        assertEquals(12, page.wanted(1));
        assertEquals(Message.NOBODY, page.wanted(0));
        assertEquals(Message.NOBODY, ordered(12, 2).wanted(1));
        assertEquals(Message.NOBODY, page.enter(1, 12, 1, "x").wanted(1), "it is carried out");
        assertEquals(Message.NOBODY, page.refuse(1, 1, "no").wanted(1), "it is refused");
    }

    @Test
    void anOrderIsTriedByTheOwnerBeforeItIsCarriedOut() {
        LedgerPage page = ordered(12, 1);
        assertFalse(page.tried(1));
        LedgerPage tried = LedgerPage.read(page.attempted(1, 1, 77, null).json());
        assertTrue(tried.tried(1));
        assertEquals(12, tried.wanted(1));
        assertEquals(77, tried.size(1));
        assertSame(first, first.attempted(1, 1, 77, null), "there is no order");
        assertSame(page, page.attempted(1, 2, 77, null), "it is of another ownership");
    }

    @Test
    void whatAWorkerHadIsLostWithItAndNotWhatWasOnItsWay() {
        LedgerPage page = first.start(1, 13, "a", true);
        assertEquals(0, page.lost(1), "it has only begun");
        assertSame(page, page.start(1, 13, "a", true));
        LedgerPage again = page.start(1, 13, "b", true);
        assertEquals(1, again.lost(1));
        assertEquals(1, again.entry(1).epoch, "another ownership, as some may know of it alone");
        assertEquals(0, page.start(1, 13, "b", false).lost(1), "it had none");
        LedgerPage moving = page.enter(1, 12, 1, "c");
        LedgerPage begun = moving.start(1, 12, "d", true);
        assertEquals(13, begun.entry(1).holder);
        assertTrue(begun.entry(1).awaits(12));
        assertTrue(LedgerPage.read(begun.json()).json().contains("in a move"));
    }

    @Test
    void anOrderIsTriedAgainByTheNextLifeOfTheOwner() {
        LedgerPage page = LedgerPage.read(ordered(12, 1).start(1, 13, "a", true).attempted(1, 1, 0, null).json());
        LedgerPage again = page.start(1, 13, "b", true);
        assertTrue(page.tried(1));
        assertFalse(again.tried(1));
        assertEquals(12, again.wanted(1));
    }

    @Test
    void aTaskBeginsAnewOnlyIfNobodyHasItsState() {
        LedgerPage page = first.enter(1, 12, 1, "c");
        assertSame(page, page.anew(1, page.entry(1), 2, "lost"), "13 has it");
        LedgerPage released = page.release(1, 13);
        assertSame(released, released.release(1, 13));
        LedgerPage anew = released.anew(1, released.entry(1), 2, "lost");
        assertEquals(2, anew.entry(1).epoch);
        assertEquals(1, anew.lost(1));
        assertSame(anew, anew.anew(1, released.entry(1), 3, "lost"), "once");
        assertEquals(0, released.anew(1, released.entry(1), 2, null).lost(1));
    }

    @Test
    void aPageThatIsWrittenAgainTakesWhatOthersKnowThatIsNewer() {
        LedgerPage page = first.start(0, 10, "a", true).enter(1, 12, 1, "x").refuse(0, 4, "no");
        assertSame(page, page.with(page), "nothing is newer");
        assertSame(page, page.with(LedgerPage.read(page.json())));
        LedgerPage later = page.release(1, 13).start(0, 10, "b", true).keep(1, 13, 3, "y").refuse(1, 5, "never");
        LedgerPage merged = page.with(later);
        assertEquals(13, merged.entry(1).seat);
        assertEquals(1, merged.lost(0));
        assertTrue(merged.json().contains("never") && merged.json().contains("no"));
        assertSame(later, later.with(page));
        assertEquals(12, page.with(page.release(1, 13)).entry(1).holder, "the owner before is rid of it");
        assertEquals("a", first.with(page).entry(0).life);
        LedgerPage working = LedgerPage.read(first.json().replace("\"working\":[]", "\"working\":[1,7]"));
        assertEquals(1, page.with(working).table.working());
        assertEquals(1, working.with(page).table.working());
    }

    @Test
    void ordersAreNotWrittenAgain() {
        LedgerPage page = ordered(12, 1);
        assertEquals(Message.NOBODY, page.again().wanted(1));
        assertEquals(Message.NOBODY, page.again().with(page).wanted(1));
        assertEquals(12, page.with(first).wanted(1));
    }

    @Test
    void byAPageThatIsWrittenAgainNobodyIsTheOwnerUntilThatSaysSo() {
        LedgerPage old = first.start(1, 13, "a", true);
        LedgerPage again = old.again();
        assertTrue(again.entry(1).awaits(13));
        assertSame(again, again.with(old), "what another one has read may be as old");
        LedgerPage merged = again.with(old.enter(1, 12, 1, "b").release(1, 13));
        assertTrue(merged.entry(1).awaits(12), "and that may have ended since");
        assertFalse(merged.claim(1, 12, "b").entry(1).awaits(12));
        LedgerPage forsaken = again.forsaken(1, again.entry(1), "a");
        assertTrue(forsaken.entry(1).epoch > merged.entry(1).epoch, "beyond ownerships that nobody has told of");
        assertEquals(13, forsaken.with(merged).entry(1).seat);
    }

    @Test
    void byAPageThatComesLateAnOwnerClaimsItsStateOrItIsWaitedFor() {
        assertTrue(first.untouched());
        LedgerPage page = first.late(900).start(1, 13, "a", true);
        assertFalse(page.untouched());
        assertTrue(page.entry(1).awaits(13));
        assertEquals(0, page.lost(1));
        LedgerPage claimed = LedgerPage.read(page.json()).claim(1, 13, "b");
        assertFalse(claimed.entry(1).awaits(13));
        assertEquals("b", claimed.entry(1).life);
        assertSame(claimed, claimed.claim(1, 13, "c"), "once");
        assertSame(page, page.claim(1, 12, "b"), "it is not the owner");
        LedgerPage forsaken = page.forsaken(1, page.entry(1), "a");
        assertEquals(1, forsaken.anew(1, forsaken.entry(1), forsaken.entry(1).epoch + 1, "nobody has it").lost(1));
        assertEquals(1, forsaken.start(1, 13, "b", true).lost(1), "it was to begin anew");
        assertSame(forsaken, forsaken.forsaken(1, first.entry(1), "b"), "it is another ownership by now");
    }

    @Test
    void emittersLearnOfNewerOwnersOnly() {
        SharedOwners owners = new SharedOwners();
        assertTrue(owners.learn("count", first.table.with(0, 11, 2)));
        long version = owners.version();
        assertFalse(owners.learn("count", first.table.with(0, 12, 1)));
        assertEquals(version, owners.version());
        assertTrue(owners.learn("count", first.table.with(1, 12, 1)), "one is older, another newer");
        assertArrayEquals(new int[] {11, 12}, owners.table("count").seats());
    }
}
