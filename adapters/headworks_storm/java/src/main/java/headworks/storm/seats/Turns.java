package headworks.storm.seats;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Order among the seats of each logical task upstream: what a new seat emits waits for the END of the old one.
 *
 * @param <T> tuples
 */
final class Turns<T> {
    private final Sources sources;
    private final Consumer<Message<T>> run;
    private final Held<T> held;
    /** By logical task upstream, the physical task whose turn it is. */
    private int[] current;
    /** Tasks whose END was not waited for: what they still send runs at once, for order is given up. */
    private final Set<Integer> passed = new HashSet<>();

    /**
     * @param current by logical task upstream, the physical task that is its owner now
     * @param run executes a tuple whose turn it is
     */
    Turns(Sources sources, int[] current, Held<T> held, Consumer<Message<T>> run) {
        this.sources = sources;
        this.current = current.clone();
        this.held = held;
        this.run = run;
    }

    /** True if what a task sends runs at once. */
    boolean open(int source) {
        return current[sources.logical(source)] == source || !passed.isEmpty() && passed.contains(source);
    }

    /** Take a tuple or an END, in the order in which their source sent them. */
    void take(Message<T> message) {
        if (!open(message.source)) {
            held.add(message);
        } else if (message.kind == Message.Kind.END) {
            end(message.source, message.next);
        } else {
            run.accept(message);
        }
    }

    private void end(int source, int next) {
        if (!passed.remove(source)) {
            pass(source, next);
        }
    }

    /** Give the turn of one seat to another; an END among what waited there gives it on. */
    private void pass(int source, int next) {
        current[sources.logical(source)] = next;
        passed.remove(next);
        while (open(next)) {
            Message<T> message = held.poll(next);
            if (message == null) {
                return;
            }
            take(message);
        }
    }

    /** Wait no longer for the END before a task. */
    void force(int source) {
        int before = current[sources.logical(source)];
        if (before != source) {
            passed.add(before);
            pass(before, source);
        }
    }

    /** What waits, which another seat is to take from now on. */
    List<Message<T>> clear() {
        return held.clear();
    }

    /** Whose turn it is by logical task, then the tasks whose END was not waited for. */
    int[] snapshot() {
        int[] all = Arrays.copyOf(current, current.length + passed.size());
        int place = current.length;
        for (int task : passed) {
            all[place++] = task;
        }
        return all;
    }

    void restore(int[] snapshot) {
        current = Arrays.copyOf(snapshot, current.length);
        passed.clear();
        for (int place = current.length; place < snapshot.length; place++) {
            passed.add(snapshot[place]);
        }
    }
}
