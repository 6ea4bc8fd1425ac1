package headworks.storm.seats;

/**
 * A tuple on its way to a seat, or a message of the hand-over; never changed.
 *
 * <ul>
 * <li>{@code TUPLE}: a tuple that {@code source} emitted.
 * <li>{@code MARK}: the last that {@code source} sends by its old path, for it has learned of the owner of {@code epoch}.
 * <li>{@code END}: the last that {@code source} emits for its logical task; what {@code next} emits for it comes after.
 * <li>{@code STATE}: {@code source} hands ownership {@code epoch} over; without a state it could not, and stays owner.
 * <li>{@code RECEIVED}: {@code source} has the {@code STATE} of {@code epoch}.
 * </ul>
 *
 * @param <T> tuples
 */
final class Message<T> {
    enum Kind { TUPLE, MARK, END, STATE, RECEIVED }

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
    /** Of a STATE, null where the snapshot failed. */
    final State state;

    private Message(Kind kind, int source, long epoch, int next, T tuple, State state) {
        this.kind = kind;
        this.source = source;
        this.epoch = epoch;
        this.next = next;
        this.tuple = tuple;
        this.state = state;
    }

    static <T> Message<T> tuple(int source, T tuple) {
        return new Message<>(Kind.TUPLE, source, 0, NOBODY, tuple, null);
    }

    static <T> Message<T> mark(int source, long epoch) {
        return new Message<>(Kind.MARK, source, epoch, NOBODY, null, null);
    }

    static <T> Message<T> end(int source, int next) {
        return new Message<>(Kind.END, source, 0, next, null, null);
    }

    static <T> Message<T> state(int source, long epoch, State state) {
        return new Message<>(Kind.STATE, source, epoch, NOBODY, null, state);
    }

    static <T> Message<T> received(int source, long epoch) {
        return new Message<>(Kind.RECEIVED, source, epoch, NOBODY, null, null);
    }

    @Override
    public String toString() {
        return kind + " of " + source + (kind == Kind.TUPLE ? ": " + tuple : " epoch " + epoch + " next " + next);
    }
}
