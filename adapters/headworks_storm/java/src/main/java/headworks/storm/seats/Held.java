package headworks.storm.seats;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;

/**
 * Messages that wait, by the physical task that sent them, in the order in which they came.
 *
 * @param <T> tuples
 */
final class Held<T> {
    private static final class Line<T> {
        final Queue<Message<T>> messages = new ArrayDeque<>();
        final long since;

        Line(long since) {
            this.since = since;
        }
    }

    private final Effects<T> effects;
    /** By source; without empty ones. */
    private final Map<Integer, Line<T>> lines = new HashMap<>();
    private int count;
    private long bytes;

    Held(Effects<T> effects) {
        this.effects = effects;
    }

    void add(Message<T> message) {
        lines.computeIfAbsent(message.source, source -> new Line<>(effects.now())).messages.add(message);
        count++;
        bytes += size(message);
    }

    /** The oldest of a source, which waits no longer; null if there is none. */
    Message<T> poll(int source) {
        Line<T> line = lines.get(source);
        if (line == null) {
            return null;
        }
        Message<T> message = line.messages.remove();
        count--;
        bytes -= size(message);
        if (line.messages.isEmpty()) {
            lines.remove(source);
        }
        return message;
    }

    /** All of them, those of a source in their order; none of them waits any longer. */
    List<Message<T>> clear() {
        List<Message<T>> all = new ArrayList<>();
        lines.values().forEach(line -> all.addAll(line.messages));
        lines.clear();
        count = 0;
        bytes = 0;
        return all;
    }

    boolean isEmpty() {
        return lines.isEmpty();
    }

    /** True if something of a source waits. */
    boolean has(int source) {
        return lines.containsKey(source);
    }

    /** The sources of which something waits. */
    List<Integer> sources() {
        return new ArrayList<>(lines.keySet());
    }

    /** Since when something of a source waits without a break, in nanoseconds. */
    long since(int source) {
        return lines.get(source).since;
    }

    int count() {
        return count;
    }

    long bytes() {
        return bytes;
    }

    private long size(Message<T> message) {
        return message.kind == Message.Kind.TUPLE ? effects.bytes(message.tuple) : 0;
    }
}
