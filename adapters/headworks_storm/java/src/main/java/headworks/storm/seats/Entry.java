package headworks.storm.seats;

/** Who owns one task, as the ledger says; never changed. */
final class Entry {
    /** The life of a worker that has not begun. */
    static final String NO_LIFE = "";

    /** The physical task that owns it. */
    final int seat;
    /** Number of this ownership. */
    final long epoch;
    /**
     * The only seat that may have the state: the owner before, until it is rid of it, then the owner; {@link Message#NOBODY} if
     * it is not known whether one has it.
     */
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

    /** This entry, of which it is not known who has the state. */
    Entry unknown() {
        return new Entry(seat, epoch, Message.NOBODY, life);
    }

    /**
     * This entry of a task, or another one if that is newer, or tells more of the same ownership. Who has the state stays
     * unknown until the owner says that: what another worker has read may be old.
     */
    Entry newest(Entry other) {
        boolean known = holder != Message.NOBODY;
        if (other.epoch != epoch || other.seat != seat) {
            return other.epoch <= epoch ? this : known ? other : other.unknown();
        }
        boolean rid = known && holder != seat && other.holder == seat;
        boolean begun = life.equals(NO_LIFE) && !other.life.equals(NO_LIFE);
        return rid || begun ? new Entry(seat, epoch, rid ? seat : holder, begun ? other.life : life) : this;
    }

    /** True for the owner of a task whose state comes, if at all, from another seat. */
    boolean awaits(int task) {
        return seat == task && holder != task;
    }
}
