package headworks.storm.monitor;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/**
 * What one task did, as the component that wraps it tells, in place of Storm's task hooks.
 *
 * <p>Its numbers are plain, as those of {@link Counts} are, and for the same thread.
 */
public final class Tally {
    private static final String ACK = "__ack_ack";
    /** Of the size of what a task tells an acker: a root and a sum, both random. */
    private static final List<Object> TOLD = List.of(Long.MAX_VALUE / 3, Long.MIN_VALUE / 5);

    private final Counts counts;
    private final Sizes sizes;
    /** Each acker in a list of its own. */
    private final List<List<Integer>> ackers = new ArrayList<>();
    private int turn;
    /** The tuple of a spout whose complete latency is being measured, one at a time. */
    private Object measured;
    private long since;

    Tally(Counts counts, Sizes sizes, Collection<Integer> ackers) {
        this.counts = counts;
        this.sizes = sizes;
        ackers.forEach(each -> this.ackers.add(Collections.singletonList(each)));
    }

    /** A tuple is executed that another task sent. */
    public void received() {
        counts.received++;
    }

    /**
     * A tuple was emitted.
     *
     * @param targets the tasks that it went to
     */
    public void emitted(String stream, List<Object> values, Collection<Integer> targets) {
        counts.emitted(stream, values, targets, 1, sizes);
    }

    /**
     * A spout emitted a tuple that may be acked.
     *
     * @param message its id, null if it has none
     */
    public void begun(Object message) {
        if (message != null && !ackers.isEmpty()) {
            tellAcker(Counts.BEGUN);
            if (measured == null) {
                measured = message;
                since = System.nanoTime();
            }
        }
    }

    /**
     * A bolt acknowledged or failed a tuple.
     *
     * @param roots of the tuples of spouts that it descends from
     */
    public void done(int roots) {
        for (int i = 0; i < roots && !ackers.isEmpty(); i++) {
            tellAcker(ACK);
        }
    }

    /** Which acker is told hangs on a number that is random: all are told as often. */
    private void tellAcker(String stream) {
        turn = turn + 1 < ackers.size() ? turn + 1 : 0;
        counts.emitted(stream, TOLD, ackers.get(turn), 1, sizes);
    }

    /** A tuple of a spout was acked; without ackers Storm acknowledges on emit, which completes nothing. */
    public void acked(Object message) {
        if (!ackers.isEmpty()) {
            counts.acked(message == measured ? (Long) ((System.nanoTime() - since) / 1_000_000) : null);
            forget(message);
        }
    }

    /** A tuple of a spout failed. */
    public void failed(Object message) {
        counts.failed++;
        forget(message);
    }

    private void forget(Object message) {
        if (message == measured) {
            measured = null;
        }
    }
}
