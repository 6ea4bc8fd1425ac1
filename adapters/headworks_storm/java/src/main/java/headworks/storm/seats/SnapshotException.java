package headworks.storm.seats;

/** The state of a task cannot be had, or not be given, so that it stays where it is. */
final class SnapshotException extends Exception {
    private static final long serialVersionUID = 1L;

    SnapshotException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
