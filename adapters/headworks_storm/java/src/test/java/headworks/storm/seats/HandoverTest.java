package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Single steps of the hand-over; seats 10 and 11 of a task, below spout 1 and the seats 2 and 3 of one task. */
class HandoverTest {
    private static final Sources SOURCES = new Sources(List.of(new int[] {1}, new int[] {2, 3}));
    private static final int[] OWNERS = {1, 2};
    private static final Limits LIMITS = new Limits(100, 100, 100, 5_000, 50, 7);

    /** Writes down what happens. */
    private static final class Script implements Effects<String> {
        final List<String> done = new ArrayList<>();
        byte[] state = {7};
        long bytes = 10;
        long now;
        boolean full;

        @Override
        public void execute(String tuple) {
            done.add(tuple);
        }

        @Override
        public void send(int seat, long epoch, Message<String> message) {
            if (full && message.state != null) {
                throw new OutOfMemoryError("no heap");
            }
            done.add(seat + "@" + epoch + " " + message.kind + (message.tuple == null ? "" : " " + message.tuple));
        }

        @Override
        public void end(int next) {
            done.add("end for " + next);
        }

        @Override
        public byte[] snapshot() throws SnapshotException {
            if (state == null) {
                throw new SnapshotException("none", null);
            }
            return state;
        }

        @Override
        public void restore(byte[] content) throws SnapshotException {
            if (content.length == 0) {
                throw new SnapshotException("too large", null);
            }
            state = content;
            done.add("restored");
        }

        @Override
        public void left() {
            done.add("left");
        }

        @Override
        public void kept(String why) {
            done.add("kept: " + why);
        }

        @Override
        public long bytes(String tuple) {
            return bytes;
        }

        @Override
        public long now() {
            return now;
        }

        void did(String... expected) {
            assertEquals(Arrays.asList(expected), done);
            done.clear();
        }
    }

    private final Script script = new Script();

    private Handover<String> seat(int self, int owner, long epoch) {
        return new Handover<>(self, SOURCES, OWNERS, new Entry(owner, epoch, owner, ""), LIMITS, script);
    }

    private static Message<String> state(long epoch) {
        return Message.state(10, epoch, new State(new byte[] {9}, OWNERS));
    }

    private Handover<String> owningSince(long epoch) {
        Handover<String> seat = seat(11, 10, 0);
        seat.forwarded(epoch, state(epoch));
        script.did("restored", "10@" + epoch + " RECEIVED");
        return seat;
    }

    @Test
    void theOwnerExecutesAndAnotherSeatDoesNot() {
        seat(10, 10, 0).tuple(1, "a");
        script.did("a");
        Handover<String> ghost = seat(11, 10, 0);
        ghost.tuple(1, "b");
        script.did();
        assertEquals(1, ghost.held());
    }

    @Test
    void aTaskThatIsNotUpstreamIsRefused() {
        Handover<String> seat = seat(10, 10, 0);
        assertThrows(IllegalArgumentException.class, () -> seat.tuple(4, "a"));
        assertThrows(IllegalArgumentException.class, () -> seat.tuple(0, "a"));
    }

    @Test
    void theStateGoesBeforeWhatIsForwarded() {
        Handover<String> seat = seat(10, 10, 0);
        seat.tuple(3, "waits for the end of 2");
        seat.direct(Message.mark(1, 1));
        assertTrue(seat.give(11, 1));
        seat.tuple(2, "late");
        script.did("11@1 STATE");
        assertEquals(2, seat.held());
        seat.forwarded(1, Message.received(11, 1));
        script.did("end for 11", "11@1 TUPLE waits for the end of 2", "11@1 MARK", "11@1 TUPLE late", "left");
        assertEquals(3, seat.forwarded());
        seat.tuple(1, "behind its mark");
        script.did();
        assertEquals(1, seat.held());
    }

    @Test
    void anOwnershipIsGivenOnce() {
        Handover<String> seat = seat(10, 10, 3);
        assertFalse(seat.give(11, 3), "not newer");
        assertFalse(seat.give(10, 4), "to itself");
        script.did();
        assertTrue(seat.give(11, 4));
        assertFalse(seat.give(11, 5), "not the owner");
    }

    @Test
    void theNewSeatExecutesWhatIsForwardedBeforeWhatComesItself() {
        Handover<String> seat = seat(11, 10, 0);
        seat.tuple(1, "third");
        seat.forwarded(1, Message.tuple(1, "first"));
        script.did();
        seat.forwarded(1, state(1));
        script.did("restored", "first", "10@1 RECEIVED");
        assertArrayEquals(new byte[] {9}, script.state);
        seat.forwarded(1, Message.tuple(1, "second"));
        seat.forwarded(1, Message.mark(1, 1));
        seat.tuple(1, "fourth");
        script.did("second", "third", "fourth");
        assertEquals(0, seat.disordered());
    }

    @Test
    void aNewSeatUpstreamWaitsForTheEndOfTheOldOne() {
        Handover<String> seat = seat(10, 10, 0);
        seat.tuple(3, "c");
        seat.direct(Message.end(3, 2));
        seat.tuple(2, "a");
        seat.direct(Message.end(2, 3));
        seat.tuple(3, "held for a second turn");
        seat.tuple(2, "d");
        script.did("a", "c", "d");
    }

    @Test
    void aStateIsSentUntilItIsAcknowledgedAndInstalledOnce() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        script.done.clear();
        script.now = 99;
        giver.expire();
        script.did();
        script.now = 100;
        giver.expire();
        script.did("11@1 STATE");
        giver.forwarded(1, Message.received(11, 1));
        script.now = 300;
        giver.expire();
        script.did("end for 11", "left");
        Handover<String> taker = owningSince(1);
        taker.forwarded(1, state(1));
        script.did("10@1 RECEIVED");
    }

    @Test
    void aMarkThatDoesNotComeIsNotWaitedForForever() {
        Handover<String> seat = owningSince(1);
        script.now = 50;
        seat.tuple(1, "a");
        seat.tuple(2, "b");
        script.now = 149;
        seat.expire();
        script.did();
        seat.forwarded(1, Message.mark(2, 1));
        script.did("b");
        script.now = 150;
        seat.expire();
        script.did("a");
        assertEquals(1, seat.disordered());
        seat.tuple(1, "c");
        script.did("c");
    }

    @Test
    void anEndThatDoesNotComeIsNotWaitedForForever() {
        Handover<String> seat = seat(10, 10, 0);
        seat.tuple(3, "a");
        script.now = 100;
        seat.expire();
        seat.tuple(2, "late, at once");
        seat.direct(Message.end(2, 3));
        seat.tuple(3, "b");
        seat.tuple(2, "of a second turn");
        script.did("a", "late, at once", "b");
        assertEquals(1, seat.disordered());
    }

    @Test
    void tooMuchThatWaitsOpensTheGates() {
        Handover<String> seat = owningSince(1);
        for (int i = 0; i < 5; i++) {
            seat.tuple(1, "a");
        }
        seat.expire();
        script.did();
        seat.tuple(2, "b");
        seat.expire();
        assertEquals(List.of(6, 0, 2L), List.of(script.done.size(), seat.held(), seat.disordered()));
    }

    @Test
    void aTaskIsSettledOnceAllMarked() {
        Handover<String> seat = owningSince(1);
        for (int source = 1; source <= 3; source++) {
            assertFalse(seat.settled());
            seat.forwarded(1, Message.mark(source, 1));
        }
        assertTrue(seat.settled());
        Handover<String> other = owningSince(2);
        script.now = 5_000;
        assertTrue(other.settled(), "whoever is silent for long is not waited for");
        other.expire();
        other.tuple(1, "a");
        script.did("a");
        assertEquals(0, other.disordered());
    }

    @Test
    void aSeatWithoutASnapshotKeepsTheTaskAndTheOtherSendsItBack() {
        script.state = null;
        Handover<String> keeper = seat(10, 10, 0);
        assertTrue(keeper.give(11, 1));
        assertTrue(keeper.owner());
        assertEquals(2, keeper.epoch());
        script.did("kept: none", "11@1 STATE");
        keeper.tuple(1, "a");
        keeper.direct(Message.mark(1, 1));
        keeper.tuple(1, "c");
        script.did("a", "11@1 MARK");
        keeper.forwarded(2, Message.tuple(1, "b"));
        keeper.forwarded(2, Message.mark(1, 2));
        script.did("b", "11@1 MARK", "c");

        Handover<String> other = seat(11, 10, 0);
        other.tuple(1, "b");
        other.forwarded(1, Message.state(10, 1, null));
        assertFalse(other.owner());
        script.did("left", "10@1 RETURNED");
        other.forwarded(1, Message.mark(1, 1));
        script.did("10@2 MARK", "10@2 TUPLE b");
        other.forwarded(1, Message.state(10, 1, null));
        script.did("10@1 RETURNED");
    }

    @Test
    void aTaskStaysThatTheOtherSeatCannotTakeAndWhatCameMeanwhileIsExecuted() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        giver.tuple(1, "a");
        giver.direct(Message.mark(1, 1));
        script.did("11@1 STATE");
        giver.forwarded(1, Message.refused(11, 1, "no heap"));
        script.did("11@1 STATE"); // without a state
        assertFalse(giver.owner() || giver.settled(), "another life may have it");
        giver.forwarded(1, Message.refused(11, 1, "said again"));
        script.did();
        giver.forwarded(1, Message.returned(11, 1));
        script.did("kept: no heap", "a", "11@1 MARK");
        assertTrue(giver.owner());
        assertEquals(List.of(2L, 0L), List.of(giver.epoch(), giver.forwarded()));
    }

    @Test
    void aTaskStaysWhoseStateItsWorkerHasNoMemoryToSend() {
        Handover<String> giver = seat(10, 10, 0);
        script.full = true;
        assertTrue(giver.give(11, 1));
        giver.tuple(1, "a");
        script.did("11@1 STATE"); // without a state
        giver.forwarded(1, Message.returned(11, 1));
        script.did("kept: its worker has no memory to send its state: no heap", "a");
        assertTrue(giver.owner());
    }

    @Test
    void aTaskIsAnothersThatIsWantedBackOfWhoHasIt() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        giver.revoke("it died");
        script.did("11@1 STATE", "11@1 STATE");
        Handover<String> taker = owningSince(1);
        taker.forwarded(1, Message.state(10, 1, null));
        assertTrue(taker.owner());
        script.did("10@1 RECEIVED");
        giver.forwarded(1, Message.received(11, 1));
        script.did("end for 11", "left");
    }

    @Test
    void whoCannotTakeAStateSaysSoAndMayBeAskedAgain() {
        Handover<String> taker = seat(11, 10, 0);
        taker.forwarded(1, Message.state(10, 1, new State(new byte[0], OWNERS)));
        assertFalse(taker.owner());
        script.did("10@1 REFUSED");
        taker.forwarded(1, state(1));
        assertTrue(taker.owner());
        script.did("restored", "10@1 RECEIVED");
    }

    @Test
    void tooMuchThatWaitsForTheAnswerIsPassedOnAndComesBackIfThatIsNo() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        for (int i = 0; i < 6; i++) {
            giver.tuple(1, "a");
        }
        script.did("11@1 STATE");
        giver.expire();
        assertEquals(0, giver.held());
        assertEquals("end for 11", script.done.get(0));
        script.done.clear();
        giver.forwarded(1, Message.refused(11, 1, "no heap"));
        giver.forwarded(1, Message.returned(11, 1));
        giver.forwarded(2, Message.tuple(1, "a"));
        giver.tuple(1, "b");
        script.did("11@1 STATE", "kept: no heap", "a", "b");
    }

    @Test
    void tooManyThatWaitForTheAnswerArePassedOnHoweverSmallTheySeem() {
        script.bytes = 0;
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        for (int i = 0; i < 7; i++) {
            giver.tuple(1, "a");
        }
        giver.expire();
        assertEquals(7, giver.held());
        giver.tuple(1, "a");
        giver.expire();
        assertEquals(List.of(0, 8L), List.of(giver.held(), giver.forwarded()));
    }

    @Test
    void noTickIsExecutedWhileATaskIsHandedOverAndTheLastOneIfItStays() {
        Handover<String> giver = seat(10, 10, 0);
        giver.tick("before");
        giver.give(11, 1);
        giver.tick("early");
        giver.tick("tick");
        giver.tuple(1, "a");
        giver.forwarded(1, Message.refused(11, 1, "no heap"));
        script.did("before", "11@1 STATE", "11@1 STATE");
        giver.forwarded(1, Message.returned(11, 1));
        giver.tick("after");
        script.did("kept: no heap", "a", "tick", "after");
    }

    @Test
    void aTickThatCameInAMoveIsOfATaskThatHasLeft() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        giver.tick("tick");
        giver.forwarded(1, Message.received(11, 1));
        giver.tick("of nobody");
        script.did("11@1 STATE", "end for 11", "left");
        giver.forwarded(2, Message.state(11, 2, new State(new byte[] {9}, OWNERS)));
        script.did("restored", "11@2 RECEIVED");
    }

    @Test
    void aSeatThatBeginsAfterAMoveForwardsToTheOwner() {
        Handover<String> seat = seat(10, 11, 4);
        seat.tuple(1, "a");
        script.did("11@4 TUPLE a");
    }

    @Test
    void aTaskOfWhichNobodyHasTheStateIsAdopted() {
        Handover<String> seat = seat(11, 10, 0);
        seat.forwarded(1, Message.tuple(1, "a"));
        assertTrue(seat.adopt(1));
        script.did("a");
        assertFalse(seat.adopt(1));
        seat.forwarded(1, state(1));
        script.did("10@1 RECEIVED");
    }

    @Test
    void aSeatThatBeginsInAMoveWaitsForTheStateAndForTheMarks() {
        Handover<String> giver = seat(10, 10, 0);
        giver.give(11, 1);
        giver.direct(Message.mark(1, 1));
        script.done.clear();
        Handover<String> taker = new Handover<>(11, SOURCES, OWNERS, new Entry(11, 1, 10, "b"), LIMITS, script);
        taker.tuple(1, "a");
        assertFalse(taker.owner() || taker.settled());
        script.now = 100;
        giver.expire();
        script.did("11@1 STATE");
        taker.forwarded(1, state(1));
        giver.forwarded(1, Message.received(11, 1));
        taker.forwarded(1, Message.mark(1, 1));
        script.did("restored", "10@1 RECEIVED", "end for 11", "11@1 MARK", "left", "a");
    }

    @Test
    void whatWaitsForAStateThatIsNeverSentIsPassedOn() {
        Handover<String> seat = new Handover<>(11, SOURCES, OWNERS, new Entry(11, 1, 10, "b"), LIMITS, script);
        seat.tuple(1, "a");
        assertTrue(seat.follow(10, 3));
        assertFalse(seat.follow(10, 2), "it knows of a newer one");
        script.did("10@3 TUPLE a");
        assertFalse(owningSince(1).follow(10, 3), "an owner gives");
    }

    @Test
    void aTableTakesNewerOwnersOnly() {
        Table table = Table.of(10, 20).with(1, 21, 2);
        assertEquals(table, table.with(1, 22, 2));
        assertArrayEquals(new int[] {10, 21}, table.seats());
        assertEquals(List.of(1), table.since(Table.of(10, 20)));
        assertEquals(List.of(), table.since(table.with(0, 11, 1)));
    }
}
