package headgate.storm.monitor;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to the collector: what it does not take is dropped and counted, and it is called again later. While it
 * is slow to read, the reporter waits, and its next report is on a longer time.
 */
final class Wire {
    private static final Logger LOG = LoggerFactory.getLogger(Wire.class);
    private static final int PATIENCE_MS = 2_000;
    private static final long LEAST_PAUSE_MS = 1_000;
    private static final long MOST_PAUSE_MS = 60_000;
    private static final long COMPLAINT_MS = 600_000;

    private final Settings settings;
    private volatile Socket socket;
    private volatile boolean closed;
    private long pauseMs = LEAST_PAUSE_MS;
    private long nextTry = System.nanoTime();
    private long nextComplaint = System.nanoTime();
    private long dropped;

    Wire(Settings settings) {
        this.settings = settings;
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
            fresh.getOutputStream().write(hello().getBytes(StandardCharsets.UTF_8));
        } catch (IOException | RuntimeException error) {
            fresh.close();
            throw error;
        }
        socket = fresh;
        if (closed) {
            hangUp();
        }
    }

    /** The first line. The file is read each time: a new token needs no restart of workers. */
    private String hello() throws IOException {
        String token = settings.token;
        if (token == null && settings.tokenFile != null) {
            token = Files.readString(Path.of(settings.tokenFile));
        }
        return (token == null ? "" : token.trim()) + "\n";
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
