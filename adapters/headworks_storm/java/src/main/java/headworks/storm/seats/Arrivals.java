package headworks.storm.seats;

import org.apache.storm.tuple.TupleImpl;

/** What becomes of the tuples that reach a seat; on the thread of its executor. */
public interface Arrivals {
    /** A tuple has come, of a stream that the bolt subscribed to or of {@link Seating#STREAM}. */
    void arrive(TupleImpl tuple);

    /** A tick of Storm's has come, which is for whoever lives in this seat. */
    void tick(TupleImpl tick);

    /** True if the task lives in this seat: its bolt executes what comes. */
    boolean owns();

    /** The executor has nothing to execute; it comes back soon. */
    default void idle() {
    }

    /** Where nobody ever moves: all that comes is executed. */
    static Arrivals executed(SeatBolt seat, int task) {
        return new Arrivals() {
            @Override
            public void arrive(TupleImpl tuple) {
                if (seat.resident() == null) {
                    throw new IllegalStateException("a tuple of " + tuple.getSourceComponent() + " came to seat " + task
                        + ", in which no task lives");
                }
                seat.resident().execute(tuple);
            }

            @Override
            public void tick(TupleImpl tick) {
                if (seat.resident() != null) {
                    seat.resident().execute(tick);
                }
            }

            @Override
            public boolean owns() {
                return SeatWorker.of(seat.context()).lives(task);
            }
        };
    }
}
