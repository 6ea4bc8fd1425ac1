package headworks.storm.seats;

import java.util.concurrent.TimeUnit;

/** Bounds on waiting for what Storm may have dropped as a connection broke; never changed. */
final class Limits {
    /**
     * One second for a marker of either kind, 64 MB or 50,000 of waiting tuples, STATE sent again each second, half a
     * minute to settle.
     *
     * With less patience a slow network costs order; with more, tuples wait longer for a marker that was dropped. With
     * larger caps a worker may run out of heap; there are two, as of values only text and bytes are measured. With less
     * time to settle, a spout that is idle or held back has not sent its marker, and its tuples may overtake each other
     * once; with more, a task cannot move again for longer.
     */
    static final Limits USUAL = new Limits(seconds(1), seconds(1), seconds(1), seconds(30), 64L << 20, 50_000);

    /** Nanoseconds that a tuple waits for a MARK. */
    final long mark;
    /** Nanoseconds that a tuple waits for an END. */
    final long end;
    /** Nanoseconds from one STATE to the next, until it is acknowledged. */
    final long resend;
    /** Nanoseconds after which a seat waits for no further MARK. */
    final long settle;
    /** Bytes of tuples that may wait. */
    final long bytes;
    /** Messages that may wait. */
    final int messages;

    Limits(long mark, long end, long resend, long settle, long bytes, int messages) {
        this.mark = mark;
        this.end = end;
        this.resend = resend;
        this.settle = settle;
        this.bytes = bytes;
        this.messages = messages;
    }

    /** The usual limits, with another patience in seconds. */
    static Limits patient(int seconds) {
        return new Limits(seconds(seconds), seconds(seconds), USUAL.resend, USUAL.settle, USUAL.bytes, USUAL.messages);
    }

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }
}
