package headworks.storm.workload;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Uses processor time of the calling thread, tuple by tuple; what has piled up is used in pieces worth measuring. */
final class Burn {
    private static final long PIECE_NANOS = 200_000;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final double nanosPerTuple;
    private double owed;

    /** @param microsPerTuple microseconds of processor time for each tuple */
    Burn(double microsPerTuple) {
        nanosPerTuple = microsPerTuple * 1000;
    }

    /** Account for one tuple. */
    void tuple() {
        owed += nanosPerTuple;
        if (owed < PIECE_NANOS) {
            return;
        }
        long begin = threads.getCurrentThreadCpuTime();
        long used = 0;
        while (used < owed) {
            used = threads.getCurrentThreadCpuTime() - begin;
        }
        owed -= used;
    }
}
