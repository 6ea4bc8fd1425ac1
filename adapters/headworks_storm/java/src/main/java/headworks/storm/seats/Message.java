package headworks.storm.seats;

/**
 * A tuple on its way to a seat, or a message of the hand-over; never changed.
 *
 * <ul>
 * <li>{@code TUPLE}: a tuple that {@code source} emitted.
 * <li>{@code MARK}: the last that {@code source} sends by its old path, for it has learned of the owner of {@code epoch}.
 * <li>{@code END}: the last that {@code source} emits for its logical task; what {@code next} emits for it comes after.
 * <li>{@code STATE}: {@code source} hands ownership {@code epoch} over; without a state it keeps or wants back the task.
 * <li>{@code RECEIVED}: {@code source} has the {@code STATE} of {@code epoch}.
 * <li>{@code REFUSED}: {@code source} cannot take that; it tells why.
 * <li>{@code RETURNED}: {@code source} has had {@code epoch} without a state, and passes on what comes under it.
 * </ul>
 *
 * @param <T> tuples
 */
final class Message<T> {
    enum Kind { TUPLE, MARK, END, STATE, RECEIVED, REFUSED, RETURNED }

    /** Where no task is meant. */
    static final int NOBODY = -1;

    final Kind kind;
    /** The physical task that sent it first, however often it was forwarded. */
    final int source;
    final long epoch;
    /** Of an END. */
    final int next;
    /** Of a TUPLE. */
    final T tuple;
    /** Of a STATE, null where there is none. */
    final State state;
    /** Of a REFUSED. */
    final String why;

    private Message(Kind kind, int source, long epoch, int next, T tuple, State state, String why) {
        this.kind = kind;
        this.source = source;
        this.epoch = epoch;
        this.next = next;
        this.tuple = tuple;
        this.state = state;
        this.why = why;
    }

    static <T> Message<T> tuple(int source, T tuple) {
        return new Message<>(Kind.TUPLE, source, 0, NOBODY, tuple, null, null);
    }

    static <T> Message<T> mark(int source, long epoch) {
        return new Message<>(Kind.MARK, source, epoch, NOBODY, null, null, null);
    }

    static <T> Message<T> end(int source, int next) {
        return new Message<>(Kind.END, source, 0, next, null, null, null);
    }

    static <T> Message<T> state(int source, long epoch, State state) {
        return new Message<>(Kind.STATE, source, epoch, NOBODY, null, state, null);
    }

    static <T> Message<T> received(int source, long epoch) {
        return new Message<>(Kind.RECEIVED, source, epoch, NOBODY, null, null, null);
    }

    static <T> Message<T> refused(int source, long epoch, String why) {
        return new Message<>(Kind.REFUSED, source, epoch, NOBODY, null, null, why);
    }

    static <T> Message<T> returned(int source, long epoch) {
        return new Message<>(Kind.RETURNED, source, epoch, NOBODY, null, null, null);
    }

    /** True for what answers a STATE. */
    boolean answers() {
        return kind == Kind.RECEIVED || kind == Kind.REFUSED || kind == Kind.RETURNED;
    }

    @Override
    public String toString() {
        return kind + " of " + source + (kind == Kind.TUPLE ? ": " + tuple : " epoch " + epoch + " next " + next);
    }
}
