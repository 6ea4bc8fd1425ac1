package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What is done for seat 10 or 11 of a task. */
class StepTest {
    private static final Entry MOVING = new Entry(11, 3, 10, "a");
    private static final Entry MOVED = new Entry(11, 3, 11, "a");

    private static SeatStatus seat(boolean owner, long epoch, boolean handing, int held) {
        return new SeatStatus(owner, epoch, handing, true, held, 0, 0, -1);
    }

    @Test
    void theOwnerBeforeGivesAndIsRidOfTheTaskWhenThatIsAcknowledged() {
        assertEquals(Step.GIVE, Step.next(10, MOVING, seat(true, 2, false, 0)));
        assertEquals(Step.NONE, Step.next(10, MOVING, seat(false, 3, true, 0)));
        assertEquals(Step.RELEASE, Step.next(10, MOVING, seat(false, 3, false, 0)));
        assertEquals(Step.NONE, Step.next(10, MOVING, seat(false, 2, false, 0)), "it is to have it first");
        assertEquals(Step.NONE, Step.next(10, MOVED, seat(false, 3, false, 0)));
    }

    @Test
    void whoCouldNotGiveIsTheOwnerAgain() {
        assertEquals(Step.KEEP, Step.next(10, MOVING, seat(true, 4, true, 0)));
    }

    @Test
    void theOwnerWaitsForTheStateUntilNobodyHasIt() {
        assertEquals(Step.AWAIT, Step.next(11, MOVING, seat(false, 2, false, 5)));
        assertEquals(Step.BEGIN, Step.next(11, MOVED, seat(false, 2, false, 5)));
        assertEquals(Step.NONE, Step.next(11, MOVED, seat(true, 3, false, 0)));
        assertEquals(4, Step.anew(MOVED, seat(false, 2, false, 0)));
        assertEquals(6, Step.anew(MOVED, seat(false, 5, false, 0)), "it was told that the task went back");
    }

    @Test
    void byAPageThatComesLateTheOwnerKeepsWhatItHasOrGivesIt() {
        Entry late = new Entry(11, 900, Message.NOBODY, "");
        assertEquals(Step.GIVE, Step.next(10, late, seat(true, 2, false, 0)));
        assertEquals(Step.ADOPT, Step.next(11, late, seat(true, 2, false, 0)));
        assertEquals(Step.CLAIM, Step.next(11, late, seat(true, 900, false, 0)));
        assertEquals(Step.AWAIT, Step.next(11, late, seat(false, 899, false, 0)));
        assertEquals(Step.NONE, Step.next(10, late, seat(false, 900, false, 0)));
    }

    @Test
    void whatWaitsElsewhereIsTheOwners() {
        assertEquals(Step.FORWARD, Step.next(12, MOVED, seat(false, 1, false, 5)));
        assertEquals(Step.NONE, Step.next(12, MOVED, seat(false, 1, false, 0)));
        SeatStatus waiting = new SeatStatus(false, 1, false, false, 0, 0, 0, -1);
        assertEquals(Step.FORWARD, Step.next(12, MOVED, waiting), "it waits, and may not be moved to before");
    }
}
