package headworks.storm.monitor;

import headworks.storm.peer.Proof;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to the collector: what it does not take is dropped and counted, and it is called again later. While it
 * is slow to read, the reporter waits, and its next report is on a longer time.
 */
final class Wire {
    private static final Logger LOG = LoggerFactory.getLogger(Wire.class);
    private static final int PATIENCE_MS = 2_000;
    /** Workers may reach a collector by another port than it listens on. */
    private static final String ANYWHERE = "-";
    private static final long LEAST_PAUSE_MS = 1_000;
    private static final long MOST_PAUSE_MS = 60_000;
    private static final long COMPLAINT_MS = 600_000;

    private final Settings settings;
    private final String topology;
    private volatile Socket socket;
    private volatile boolean closed;
    private long pauseMs = LEAST_PAUSE_MS;
    private long nextTry = System.nanoTime();
    private long nextComplaint = System.nanoTime();
    private volatile long dropped; // written by the thread that sends, read by the reporter

    Wire(Settings settings, String topology) {
        this.settings = settings;
        this.topology = topology;
    }

    long dropped() {
        return dropped;
    }

    void send(String line) {
        try {
            if (socket == null && System.nanoTime() - nextTry >= 0) {
                connect();
            }
            if (socket != null) {
                socket.getOutputStream().write(line.getBytes(StandardCharsets.UTF_8));
                pauseMs = LEAST_PAUSE_MS;
                return;
            }
        } catch (IOException | RuntimeException error) {
            complain(error);
            hangUp();
            nextTry = System.nanoTime() + pauseMs * 1_000_000;
            pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS);
        }
        dropped++;
    }

    /** May be called by any thread; a write that waits for the collector ends. */
    void close() {
        closed = true;
        hangUp();
    }

    private void connect() throws IOException {
        Socket fresh = new Socket();
        try {
            fresh.connect(new InetSocketAddress(settings.host, settings.port), PATIENCE_MS);
            fresh.setSoTimeout(PATIENCE_MS);
            String token = TopologyToken.of(topology, settings);
            Proof.exchange(fresh.getInputStream(), fresh.getOutputStream(), token, ANYWHERE, Proof.hex(topology));
        } catch (IOException | RuntimeException error) {
            fresh.close();
            throw error;
        }
        socket = fresh;
        if (closed) {
            hangUp();
        }
    }

    private void complain(Exception error) {
        if (System.nanoTime() - nextComplaint >= 0) {
            nextComplaint = System.nanoTime() + COMPLAINT_MS * 1_000_000;
            LOG.warn("The collector at {}:{} takes no reports: {}", settings.host, settings.port, error.toString());
        }
    }

    private void hangUp() {
        Socket old = socket;
        socket = null;
        if (old != null) {
            try {
                old.close();
            } catch (IOException ignored) {
                // it is gone in any case
            }
        }
    }
}
