package headworks.storm.seats;

/**
 * What is to be done next for a seat, by its entry in the ledger and by what it is itself. All steps are changes of the ledger
 * by compare-and-set, but for {@code GIVE}, {@code REVOKE}, {@code ADOPT} and {@code FORWARD}, which do nothing when they are
 * asked for again: whoever dies before a step or after it, a seat takes the next one.
 */
enum Step {
    /** Nothing. */
    NONE,
    /** Give the task to the owner. */
    GIVE,
    /** Want the task back, as the worker to which it was given has ended: its next life may end of the same state. */
    REVOKE,
    /** Enter that this seat, which was the owner before, has nothing of the task: its state is acknowledged, or it died. */
    RELEASE,
    /** Enter this seat, which could not give the task, as its owner again. */
    KEEP,
    /** Take the number under which the ledger names this owner again, after a page was lost. */
    ADOPT,
    /** Enter that this owner has the state, of which it was not known who has it. */
    CLAIM,
    /** Wait for the state that the holder may have. */
    AWAIT,
    /** Wait for a message that says that the task came back to its giver; if that died, pass on what waits here. */
    FORWARD,
    /** Enter that the task begins anew, for nobody has its state. */
    BEGIN;

    /**
     * Decide.
     *
     * @param task of the seat
     * @param entry of its logical task
     * @param status of the seat, not newer than what it has told others
     * @param taker life of the worker to which the seat has last given the task
     */
    static Step next(int task, Entry entry, SeatStatus status, String taker) {
        if (status.owner) {
            return owner(task, entry, status.epoch);
        }
        if (entry.seat == task) {
            return entry.holder == task ? BEGIN : AWAIT;
        }
        if (status.handing) {
            return entry.epoch == status.epoch && !entry.life.equals(taker) ? REVOKE : NONE;
        }
        if (entry.holder == task) { // with an older ownership it is still to be given the task, and then to give it
            return status.epoch >= entry.epoch ? RELEASE : NONE;
        }
        boolean behind = status.epoch < entry.epoch && !status.settled;
        return behind || status.epoch <= entry.epoch && status.held > 0 ? FORWARD : NONE;
    }

    private static Step owner(int task, Entry entry, long epoch) {
        if (epoch > entry.epoch) {
            return KEEP;
        }
        if (entry.seat != task) {
            return epoch < entry.epoch ? GIVE : NONE;
        }
        return entry.holder != Message.NOBODY ? NONE : epoch < entry.epoch ? ADOPT : CLAIM;
    }

    /** The number under which a task begins anew: newer than any that its seat has heard of. */
    static long anew(Entry entry, SeatStatus status) {
        return 1 + Math.max(entry.epoch, status.epoch);
    }
}
