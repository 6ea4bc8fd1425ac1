package headworks.storm.seats;

/**
 * All that the hand-over does to the world; called on the thread of the seat's executor.
 *
 * @param <T> tuples
 */
interface Effects<T> {
    /** Have the logical task execute a tuple. */
    void execute(T tuple);

    /**
     * Send something to another seat of the same logical task, behind all that was sent there before.
     *
     * @param epoch the ownership under which it is sent: a seat with an older one waits for its STATE
     */
    void send(int seat, long epoch, Message<T> message);

    /** Send END to every task downstream, on the paths used so far: what {@code next} emits comes after it. */
    void end(int next);

    /**
     * The state of the logical task, which executes nothing here after it, unless it stays.
     *
     * @throws SnapshotException it cannot be had; then the task stays here
     */
    byte[] snapshot() throws SnapshotException;

    /**
     * Give the logical task its state, before it executes anything here.
     *
     * @throws SnapshotException it cannot be given; then the task stays where it was
     */
    void restore(byte[] content) throws SnapshotException;

    /** The logical task, which was here or was to come, lives in another seat. */
    void left();

    /** The logical task, which was to go, stays here. */
    void kept(String why);

    /** About how many bytes of memory a tuple takes. */
    long bytes(T tuple);

    /** A clock in nanoseconds, as {@link System#nanoTime}. */
    long now();
}
