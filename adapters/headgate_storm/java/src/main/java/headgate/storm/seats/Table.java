package headgate.storm.seats;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The owner of each logical task of a component, as far as it is known; never changed.
 *
 * <p>It is a hint: a seat that is no longer the owner forwards what it gets.
 */
public final class Table {
    private final int[] seats;
    private final long[] epochs;

    private Table(int[] seats, long[] epochs) {
        this.seats = seats;
        this.epochs = epochs;
    }

    /** @param seats the physical task that owns each logical task at first */
    static Table of(int... seats) {
        return new Table(seats.clone(), new long[seats.length]);
    }

    /** This table with an owner, or this one if it has that owner or a newer one. */
    Table with(int logical, int seat, long epoch) {
        if (epoch <= epochs[logical]) {
            return this;
        }
        Table changed = new Table(seats.clone(), epochs.clone());
        changed.seats[logical] = seat;
        changed.epochs[logical] = epoch;
        return changed;
    }

    /** Number of logical tasks. */
    int size() {
        return seats.length;
    }

    /** The physical task that owns a logical task. */
    int seat(int logical) {
        return seats[logical];
    }

    /** The epoch of its ownership. */
    long epoch(int logical) {
        return epochs[logical];
    }

    /** The owners by logical task. */
    int[] seats() {
        return seats.clone();
    }

    /** The owners by logical task, as Storm's groupings take them. */
    List<Integer> list() {
        return Arrays.stream(seats).boxed().collect(Collectors.toList());
    }

    /** The logical tasks of which an older table knows an older owner: their paths by that table are to be marked. */
    List<Integer> since(Table older) {
        List<Integer> changed = new ArrayList<>();
        for (int logical = 0; logical < seats.length; logical++) {
            if (epochs[logical] > older.epochs[logical]) {
                changed.add(logical);
            }
        }
        return changed;
    }

    @Override
    public String toString() {
        return Arrays.toString(seats) + " since " + Arrays.toString(epochs);
    }
}
