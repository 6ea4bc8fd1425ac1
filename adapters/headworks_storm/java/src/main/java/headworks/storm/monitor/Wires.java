package headworks.storm.monitor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The collectors that are told, one beside each Nimbus: whoever takes the lead has had all reports. Several have a
 * thread each, so that one which is slow or gone delays no other; a single one is told by the reporter itself.
 */
final class Wires {
    /** Lines that wait for a slow collector, up to a few MB each: more of them are older than a window anyway. */
    private static final int WAITING = 2;

    private final List<Sender> senders = new ArrayList<>();
    private final Wire only;

    Wires(Settings settings, String topology) {
        if (settings.each().size() == 1) {
            only = new Wire(settings, topology);
            return;
        }
        only = null;
        for (Settings each : settings.each()) {
            Sender sender = new Sender(new Wire(each, topology), "headworks-reporter-" + each.host + ":" + each.port);
            senders.add(sender);
            sender.start();
        }
    }

    void send(String line) {
        if (only != null) {
            only.send(line);
        } else {
            senders.forEach(each -> each.offer(line));
        }
    }

    /** Reports that even the best served collector does not have. */
    long dropped() {
        return only != null ? only.dropped() : senders.stream().mapToLong(Sender::dropped).min().orElse(0);
    }

    void close() {
        if (only != null) {
            only.close();
        }
        senders.forEach(Sender::end);
    }

    private static final class Sender extends Thread {
        private final Wire wire;
        private final BlockingQueue<String> lines = new LinkedBlockingQueue<>(WAITING);
        private volatile boolean ended;
        private long overflow;

        Sender(Wire wire, String name) {
            super(name);
            this.wire = wire;
            setDaemon(true);
        }

        /** By the reporter alone; never waits. */
        void offer(String line) {
            if (!lines.offer(line)) {
                overflow++;
            }
        }

        long dropped() {
            return overflow + wire.dropped();
        }

        void end() {
            ended = true;
            interrupt();
            wire.close();
        }

        @Override
        public void run() {
            while (!ended) {
                try {
                    wire.send(lines.take());
                } catch (InterruptedException asked) {
                    return;
                }
            }
        }
    }
}
