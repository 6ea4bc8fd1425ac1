package headworks.storm.seats;

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
    /** Of the tasks, in their order, so many are given what is dealt evenly. */
    private final int working;
    /** Of the order that set it. */
    private final long order;

    private Table(int[] seats, long[] epochs, int working, long order) {
        this.seats = seats;
        this.epochs = epochs;
        this.working = working;
        this.order = order;
    }

    /** @param seats the physical task that owns each logical task at first */
    static Table of(int... seats) {
        return new Table(seats.clone(), new long[seats.length], seats.length, 0);
    }

    /** This table with an owner, or this one if it has that owner or a newer one. */
    Table with(int logical, int seat, long epoch) {
        if (epoch <= epochs[logical]) {
            return this;
        }
        Table changed = new Table(seats.clone(), epochs.clone(), working, order);
        changed.seats[logical] = seat;
        changed.epochs[logical] = epoch;
        return changed;
    }

    /** This table with so many tasks that work, or this one if it has that order or a newer one. */
    Table working(int tasks, long number) {
        return number <= order ? this : new Table(seats, epochs, tasks, number);
    }

    /** How many of the tasks are given what is dealt evenly, the first ones. */
    int working() {
        return working;
    }

    /** Number of the order that set how many. */
    long order() {
        return order;
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
