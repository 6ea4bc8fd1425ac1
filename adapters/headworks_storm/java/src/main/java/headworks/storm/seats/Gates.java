package headworks.storm.seats;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One gate for each physical task upstream: what it sends to this seat itself waits for what it sent to the seat before.
 *
 * <p>A task marks its old path when it learns of an owner. A seat owns from one epoch to the next; what comes by a
 * task's own path belongs to this ownership if the task's last MARK is in between. With an earlier one, the seat before
 * still has something of it; with a later one, it is for another ownership of this seat, which is still to come.
 *
 * @param <T> tuples
 */
final class Gates<T> {
    /** Larger than any epoch. */
    private static final long NEVER = Long.MAX_VALUE;

    private final Sources sources;
    private final Held<T> held;
    private final Consumer<Message<T>> through;
    /** Epoch of the last MARK of each source, by its number. */
    private final long[] marks;
    private long from;
    private long to;
    /** An earlier ownership that could not be handed over, and goes on for who has not heard of that. */
    private long keptFrom;
    private long keptTo;

    /** @param through takes what a gate lets through */
    Gates(Sources sources, Held<T> held, Consumer<Message<T>> through) {
        this.sources = sources;
        this.held = held;
        this.through = through;
        this.marks = new long[sources.size()];
    }

    /** Begin to own at an epoch of which every source knows. */
    void begin(long epoch) {
        Arrays.fill(marks, epoch);
        own(epoch);
    }

    /** Own from an epoch on. */
    void own(long epoch) {
        from = epoch;
        to = NEVER;
        keptTo = keptFrom;
        drain();
    }

    /** Own up to an epoch. */
    void give(long epoch) {
        to = epoch;
        drain();
    }

    /** Own from one epoch to the next, in which nothing came here by a source's own path. */
    void pass(long epoch, long next) {
        from = epoch;
        to = next;
        drain();
    }

    /** Keep an ownership that was to end at an epoch, and own from another epoch on. */
    void keep(long epoch, long next) {
        keptFrom = from;
        keptTo = epoch;
        from = next;
        to = NEVER;
        drain();
    }

    /** True if what a source sends here itself goes on at once; nothing of such a source waits. */
    boolean open(int source) {
        return open(marks[sources.number(source)]);
    }

    private boolean open(long mark) {
        return mark >= from && mark < to || mark >= keptFrom && mark < keptTo;
    }

    /** Take what a source has sent here itself. */
    void take(Message<T> message) {
        // Its path so far was this one, so there is nothing to wait for.
        boolean own = message.kind == Message.Kind.MARK && message.epoch == from;
        if (own || open(message.source)) {
            through.accept(message);
        } else {
            held.add(message);
        }
    }

    /** True if a MARK tells what no earlier one did. */
    boolean isNew(Message<T> mark) {
        return marks[sources.number(mark.source)] < mark.epoch;
    }

    /** Note the MARK of a source, which came behind all that it sent before, and let through what waited for it. */
    void mark(int source, long epoch) {
        int number = sources.number(source);
        marks[number] = Math.max(marks[number], epoch);
        drain(source);
    }

    /** The last MARK of each source that has marked an epoch or a later one. */
    List<Message<T>> marks(long epoch) {
        return IntStream.range(0, marks.length).filter(number -> marks[number] >= epoch)
            .mapToObj(number -> Message.<T>mark(sources.task(number), marks[number])).collect(Collectors.toList());
    }

    /** True if every source has marked up to an epoch. */
    boolean marked(long epoch) {
        return Arrays.stream(marks).allMatch(mark -> mark >= epoch);
    }

    /** Wait no longer for the MARK of a source: false if it was not waited for. */
    boolean force(int source) {
        boolean waited = !open(source) && marks[sources.number(source)] < from;
        if (waited) {
            mark(source, from);
        }
        return waited;
    }

    /** Wait no longer for the MARK of any source. */
    void force() {
        for (int number = 0; number < marks.length; number++) {
            marks[number] = Math.max(marks[number], from);
        }
        drain();
    }

    /** Let through what is for an ownership that is still to come: no such one has come. */
    void flush() {
        for (int source : held.sources()) {
            while (marks[sources.number(source)] >= to && held.has(source)) {
                through.accept(held.poll(source));
            }
        }
    }

    private void drain() {
        if (!held.isEmpty()) { // an idle executor comes here each millisecond
            held.sources().forEach(this::drain);
        }
    }

    private void drain(int source) {
        while (open(source)) {
            Message<T> message = held.poll(source);
            if (message == null) {
                return;
            }
            through.accept(message);
        }
    }
}
