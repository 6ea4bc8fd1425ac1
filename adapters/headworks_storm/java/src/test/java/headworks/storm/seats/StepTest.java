package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What is done for seat 10 or 11 of a task. */
class StepTest {
    private static final Entry MOVING = new Entry(11, 3, 10, "a");
    private static final Entry MOVED = new Entry(11, 3, 11, "a");

    private static Step next(int task, Entry entry, SeatStatus status) {
        return Step.next(task, entry, status, "a");
    }

    private static SeatStatus seat(boolean owner, long epoch, boolean handing, int held) {
        return new SeatStatus(owner, epoch, handing, true, held, 0, 0, -1);
    }

    @Test
    void theOwnerBeforeGivesAndIsRidOfTheTaskWhenThatIsAcknowledged() {
        assertEquals(Step.GIVE, next(10, MOVING, seat(true, 2, false, 0)));
        assertEquals(Step.NONE, next(10, MOVING, seat(false, 3, true, 0)));
        assertEquals(Step.RELEASE, next(10, MOVING, seat(false, 3, false, 0)));
        assertEquals(Step.NONE, next(10, MOVING, seat(false, 2, false, 0)), "it is to have it first");
        assertEquals(Step.NONE, next(10, MOVED, seat(false, 3, false, 0)));
    }

    @Test
    void theOwnerBeforeWantsTheTaskBackIfTheWorkerEndedThatWasToHaveIt() {
        SeatStatus handing = seat(false, 3, true, 0);
        assertEquals(Step.REVOKE, next(10, new Entry(11, 3, 10, "b"), handing));
        assertEquals(Step.NONE, next(10, new Entry(11, 4, 10, "b"), handing), "it is another ownership");
    }

    @Test
    void whoCouldNotGiveIsTheOwnerAgain() {
        assertEquals(Step.KEEP, next(10, MOVING, seat(true, 4, true, 0)));
    }

    @Test
    void theOwnerWaitsForTheStateUntilNobodyHasIt() {
        assertEquals(Step.AWAIT, next(11, MOVING, seat(false, 2, false, 5)));
        assertEquals(Step.BEGIN, next(11, MOVED, seat(false, 2, false, 5)));
        assertEquals(Step.NONE, next(11, MOVED, seat(true, 3, false, 0)));
        assertEquals(4, Step.anew(MOVED, seat(false, 2, false, 0)));
        assertEquals(6, Step.anew(MOVED, seat(false, 5, false, 0)), "it was told that the task went back");
    }

    @Test
    void byAPageThatComesLateTheOwnerKeepsWhatItHasOrGivesIt() {
        Entry late = new Entry(11, 900, Message.NOBODY, "");
        assertEquals(Step.GIVE, next(10, late, seat(true, 2, false, 0)));
        assertEquals(Step.ADOPT, next(11, late, seat(true, 2, false, 0)));
        assertEquals(Step.CLAIM, next(11, late, seat(true, 900, false, 0)));
        assertEquals(Step.AWAIT, next(11, late, seat(false, 899, false, 0)));
        assertEquals(Step.NONE, next(10, late, seat(false, 900, false, 0)));
    }

    @Test
    void whatWaitsElsewhereIsTheOwners() {
        assertEquals(Step.FORWARD, next(12, MOVED, seat(false, 1, false, 5)));
        assertEquals(Step.NONE, next(12, MOVED, seat(false, 1, false, 0)));
        assertEquals(Step.FORWARD, next(12, MOVED, seat(false, 3, false, 5)), "for an ownership that does not come");
        assertEquals(Step.NONE, next(12, MOVED, seat(false, 4, false, 5)), "the ledger may tell of it");
        SeatStatus waiting = new SeatStatus(false, 1, false, false, 0, 0, 0, -1);
        assertEquals(Step.FORWARD, next(12, MOVED, waiting), "it waits, and may not be moved to before");
    }
}
