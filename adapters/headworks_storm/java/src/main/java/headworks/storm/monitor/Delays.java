package headworks.storm.monitor;

/**
 * How often each complete latency was seen: exact below 64 ms, above that in steps of a sixteenth of a power of two.
 *
 * <p>The thread of the executor adds, the reporter tells, as with {@link Counts}.
 */
final class Delays {
    private static final int EXACT = 64;
    private static final int STEPS = 16;
    private static final int MOST = EXACT + STEPS * 24;

    private final long[] seen = new long[MOST];
    /** The reporter's: what the reports had so far. */
    private final long[] told = new long[MOST];

    void add(long ms) {
        seen[index(ms)]++;
    }

    /** Appends {@code [task,ms,count],} for each step since the last time, with the least latency of the step. */
    void tell(int task, StringBuilder json) {
        for (int i = 0; i < MOST; i++) {
            long now = seen[i];
            if (now != told[i]) {
                json.append('[').append(task).append(',').append(least(i)).append(',').append(now - told[i]).append("],");
                told[i] = now;
            }
        }
    }

    static int index(long ms) {
        if (ms < EXACT) {
            return (int) Math.max(0, ms);
        }
        int power = 63 - Long.numberOfLeadingZeros(ms);
        int step = (int) (ms >>> power - 4) - STEPS;
        return Math.min(MOST - 1, EXACT + STEPS * (power - 6) + step);
    }

    static long least(int index) {
        if (index < EXACT) {
            return index;
        }
        int power = 6 + (index - EXACT) / STEPS;
        return (long) (STEPS + (index - EXACT) % STEPS) << power - 4;
    }
}
