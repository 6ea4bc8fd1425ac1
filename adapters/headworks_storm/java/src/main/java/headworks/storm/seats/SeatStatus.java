package headworks.storm.seats;

import java.util.List;

/** A seat as its executor last saw it; never changed. */
final class SeatStatus {
    static final SeatStatus NONE = new SeatStatus(false, 0, false, true, 0, 0, 0, -1);

    final boolean owner;
    /** Of the ownership that it has, or has given. */
    final long epoch;
    /** Whether the seat that was given ownership has not acknowledged it. */
    final boolean handing;
    /** Whether nothing of the last move is under way. */
    final boolean settled;
    /** Messages that wait. */
    final int held;
    /** Messages passed on to the owner since the worker started. */
    final long forwarded;
    /** Times that a marker was waited for no longer. */
    final long disordered;
    /** From the last tuple executed here to the acknowledgement of the state by the next owner; -1 if there was none. */
    final long pauseMicros;

    SeatStatus(boolean owner, long epoch, boolean handing, boolean settled, int held, long forwarded, long disordered,
            long pauseMicros) {
        this.owner = owner;
        this.epoch = epoch;
        this.handing = handing;
        this.settled = settled;
        this.held = held;
        this.forwarded = forwarded;
        this.disordered = disordered;
        this.pauseMicros = pauseMicros;
    }

    /** Plain data for the ledger. */
    List<Object> told() {
        return List.of(owner ? 1 : 0, epoch, handing ? 1 : 0, settled ? 1 : 0, held, forwarded, disordered, pauseMicros);
    }
}
