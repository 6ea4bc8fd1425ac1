package headworks.storm.seats;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;

/** FIFO channels between physical tasks; which of them delivers next is up to chance. */
final class Channels {
    /** A message on its way; {@code under} is negative for what a task upstream sends itself. */
    static final class Envelope {
        final int from;
        final int to;
        final long under;
        final Message<World.Item> message;

        Envelope(int from, int to, long under, Message<World.Item> message) {
            this.from = from;
            this.to = to;
            this.under = under;
            this.message = message;
        }
    }

    private final Map<Integer, Queue<Envelope>> all = new HashMap<>();
    private final List<Queue<Envelope>> live = new ArrayList<>();

    void send(Envelope envelope) {
        Queue<Envelope> channel = all.computeIfAbsent(envelope.from << 16 | envelope.to, key -> new ArrayDeque<>());
        if (channel.isEmpty()) {
            live.add(channel);
        }
        channel.add(envelope);
    }

    boolean isEmpty() {
        return live.isEmpty();
    }

    /** The next message of any channel, null if there is none. */
    Envelope next(Random random) {
        if (live.isEmpty()) {
            return null;
        }
        int place = random.nextInt(live.size());
        Queue<Envelope> channel = live.get(place);
        Envelope envelope = channel.remove();
        if (channel.isEmpty()) {
            live.set(place, live.get(live.size() - 1));
            live.remove(live.size() - 1);
        }
        return envelope;
    }

    /** The sender of these dies: of what is on its way, the first ones go on. */
    void cut(int from, Random random) {
        all.forEach((key, channel) -> {
            int stay = key >>> 16 == from && !channel.isEmpty() ? random.nextInt(channel.size() + 1) : channel.size();
            List<Envelope> kept = new ArrayList<>(channel).subList(0, stay);
            if (stay < channel.size()) {
                channel.clear();
                channel.addAll(kept);
                if (channel.isEmpty()) {
                    live.removeIf(each -> each == channel);
                }
            }
        });
    }
}
