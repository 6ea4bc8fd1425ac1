package headworks.storm.seats;

/** Who owns one task, as the ledger says; never changed. */
final class Entry {
    /** The life of a worker that has not begun. */
    static final String NO_LIFE = "";

    /** The physical task that owns it. */
    final int seat;
    /** Number of this ownership. */
    final long epoch;
    /** The only seat that may have the state: the owner before, until it is rid of it, then the owner. */
    final int holder;
    /** Tells the worker of the owner from those that ran there before: only the same one can have what it took. */
    final String life;

    Entry(int seat, long epoch, int holder, String life) {
        this.seat = seat;
        this.epoch = epoch;
        this.holder = holder;
        this.life = life;
    }

    /** The ownership of a task that never moved. */
    static Entry home(int seat) {
        return new Entry(seat, 0, seat, NO_LIFE);
    }

    /** True for the owner of a task whose state comes, if at all, from the owner before. */
    boolean awaits(int task) {
        return seat == task && holder != task;
    }
}
