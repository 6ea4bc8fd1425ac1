package headworks.storm.seats;

/** The memory that this worker has left for objects. */
final class Heap {
    private Heap() {
    }

    /** Whether there is room for so many bytes, if need be once what nobody uses has been collected. */
    static boolean hasRoom(long bytes) {
        if (free() < bytes) {
            System.gc();
        }
        return free() >= bytes;
    }

    private static long free() {
        Runtime jvm = Runtime.getRuntime();
        return jvm.maxMemory() - jvm.totalMemory() + jvm.freeMemory();
    }
}
