package headworks.storm.seats;

import java.util.EnumSet;
import java.util.Set;

/** What may be taken from the protocol, or put in its way. */
final class Rules {
    /** Guards against deaths, each of which can be taken away. */
    enum Guard {
        /** A worker that begins waits for the state of a task that was on its way to it. */
        WAIT_FOR_THE_STATE,
        /** STATE is sent until it is acknowledged. */
        SEND_AGAIN,
        /** A seat is rid of a task when its STATE is acknowledged, not before. */
        KEEP_UNTIL_ACKNOWLEDGED,
        /** A seat is rid of an ownership that it has had, not of one that is to come. */
        RELEASE_WHAT_WAS_HAD,
        /** A seat says that it owns before it acknowledges. */
        SAY_BEFORE_THE_ACKNOWLEDGEMENT,
        /** A worker that begins is told from the one before. */
        TELL_LIVES_APART,
        /** A task that begins anew is entered before it does. */
        ENTER_BEFORE_IT_BEGINS,
        /** What waits for the state of an ownership that never was is passed on. */
        FORWARD,
        /** A task is wanted back of a worker that has ended. */
        REVOKE,
        /** A holder of whom nobody tells is no longer waited for; its worker may never come back. */
        DESPAIR,
        /** A page that is gone is written again by who finds that. */
        WRITE_AGAIN,
        /** Who reads a page enters what it knows that is newer. */
        ENTER_WHAT_IS_KNOWN,
        /** By a page that comes late no task begins that may have an owner. */
        WAIT_FOR_UNKNOWN_OWNERS,
        /** By a page that is written again no task begins whose owner has not said that it is there. */
        WAIT_FOR_OWNERS_TO_SAY
    }

    boolean forwarding = true;
    long markPatience = 1_000;
    long endPatience = 1_000;
    double drops;
    double refusals;
    /** Chance that a seat cannot take a state. */
    double unreadable;
    /** Chance that a state ends the worker that takes it. */
    double deadly;
    /** Tuples that may wait in a seat. */
    long most = Long.MAX_VALUE;
    /** Chance of each step that a worker dies. */
    double deaths;
    /** Chance of each step that a page of the ledger is lost. */
    double losses;
    /** Whether moves are ordered in the ledger, by several at a time who take orders back, too; else they are entered. */
    boolean ordered;
    /** Whether workers that died come back. */
    boolean revive = true;
    final Set<Guard> without = EnumSet.noneOf(Guard.class);

    boolean has(Guard guard) {
        return !without.contains(guard);
    }

    Limits limits() {
        long resend = has(Guard.SEND_AGAIN) ? 1_000 : Long.MAX_VALUE;
        return new Limits(markPatience, endPatience, resend, 30_000, most, Integer.MAX_VALUE);
    }

    boolean impatient() {
        return markPatience == 0 || endPatience == 0;
    }
}
