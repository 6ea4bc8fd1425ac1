package headworks.storm;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the priority manager that the trigger condition of a topology began or ended, from a bolt or any program.
 *
 * <p>A bolt makes one in {@code prepare} and calls {@link #send} where it sees the condition; that returns at once, and
 * a thread of its own sends. While the manager is out of reach the last state of each topology waits, and is sent with
 * the same number until there is an answer: what arrives twice counts once.
 */
public final class Trigger implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Trigger.class);
    /** With less, a manager that restarts is asked in vain more often; with more, a trigger comes later. */
    private static final long PAUSE_MS = 2000;

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    /** More topologies than that wait for no answer: a program that makes up names does not fill the heap. */
    private static final int MOST = 10_000;

    /** As many as the manager takes. */
    private static final int LONGEST_SOURCE = 200;

    private static final int OK = 200;
    private static final int UNAVAILABLE = 503;

    private final HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
    private final URI triggers;
    private final Path token;
    private final String source;
    private final Map<String, Map<String, Object>> waiting = new LinkedHashMap<>();
    private final Thread thread;
    private long sequence;
    private boolean closed;

    /**
     * Starts the thread that sends.
     *
     * @param manager address of {@code headworks priority serve}, such as http://127.0.0.1:7780
     * @param token file with the token, which is read anew for each trigger
     * @param source who says so, such as the component and the task, 1 to 200 characters without spaces and slashes; no
     *     two programs at once may use the same
     * @throws IllegalArgumentException if the manager would refuse each trigger for its source
     */
    public Trigger(URI manager, Path token, String source) {
        this.triggers = manager.resolve("/v1/triggers");
        this.token = token;
        this.source = checked(source);
        this.thread = new Thread(this::run, "headworks-trigger-" + source);
        thread.setDaemon(true);
        thread.start();
    }

    private static String checked(String source) {
        long length = source.codePoints().count();
        if (length < 1 || length > LONGEST_SOURCE || source.codePoints().anyMatch(Trigger::isOdd)) {
            throw new IllegalArgumentException("'" + source + "' is no source: 1 to " + LONGEST_SOURCE
                    + " characters without spaces and slashes, such as detect-3");
        }
        return source;
    }

    /** Whether a name may not have this character: a slash, a space of any kind, or one that nobody sees. */
    private static boolean isOdd(int character) {
        switch (Character.getType(character)) {
            case Character.CONTROL:
            case Character.FORMAT:
            case Character.SURROGATE:
            case Character.PRIVATE_USE:
            case Character.UNASSIGNED:
            case Character.LINE_SEPARATOR:
            case Character.PARAGRAPH_SEPARATOR:
            case Character.SPACE_SEPARATOR:
                return true;
            default:
                return character == '/';
        }
    }

    /**
     * Says that a condition began or ended; an earlier word on this topology that still waits is forgotten.
     *
     * @param topology name of the topology
     * @param on whether the condition is there
     * @param why what people read in the history
     */
    public synchronized void send(String topology, boolean on, String why) {
        if (waiting.size() >= MOST && !waiting.containsKey(topology)) {
            LOG.warn("A trigger of {} is left out: {} topologies wait for the manager", topology, MOST);
            return;
        }
        // Larger than all of an earlier life of this source, whose numbers began with its clock.
        sequence = Math.max(sequence + 1, System.currentTimeMillis() * 1000);
        waiting.remove(topology);
        waiting.put(
                topology, Map.of("topology", topology, "on", on, "source", source, "sequence", sequence, "why", why));
        notifyAll();
    }

    /**
     * Waits until nothing waits any more.
     *
     * @param patience how long at most
     * @return whether all that was sent has an answer
     */
    public synchronized boolean flush(Duration patience) throws InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        while (!waiting.isEmpty() && end - System.nanoTime() > 0) {
            wait(Math.max(1, (end - System.nanoTime()) / 1_000_000));
        }
        return waiting.isEmpty();
    }

    /** Ends the thread; what still waits is not sent. */
    @Override
    public synchronized void close() {
        closed = true;
        thread.interrupt();
    }

    private void run() {
        try {
            for (Map<String, Object> next = next(); next != null; next = next()) {
                if (isAnswered(next)) {
                    done(next);
                } else {
                    Thread.sleep(PAUSE_MS);
                }
            }
        } catch (InterruptedException asked) {
            LOG.debug("No more triggers are sent");
        }
    }

    private synchronized Map<String, Object> next() throws InterruptedException {
        while (waiting.isEmpty() && !closed) {
            wait();
        }
        return closed ? null : waiting.values().iterator().next();
    }

    private synchronized void done(Map<String, Object> trigger) {
        waiting.remove((String) trigger.get("topology"), trigger);
        notifyAll();
    }

    /** Whether sending it again would change nothing: the manager took it, or will never take it. */
    private boolean isAnswered(Map<String, Object> trigger) throws InterruptedException {
        try {
            HttpRequest request = HttpRequest.newBuilder(triggers)
                    .header("Authorization", "Bearer " + Files.readString(token).strip())
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(JSONValue.toJSONString(trigger)))
                    .build();
            int status = status(request);
            if (status != OK && status != UNAVAILABLE) {
                LOG.warn("The priority manager refuses a trigger of {}: {}", trigger.get("topology"), status);
            }
            return status != UNAVAILABLE;
        } catch (IOException | ExecutionException | TimeoutException | RuntimeException error) {
            LOG.warn("The priority manager at {} has no trigger yet: {}", triggers, error.toString());
            return false;
        }
    }

    /** The status of the whole answer; one that does not end is given up, and none of it is kept. */
    private int status(HttpRequest request) throws InterruptedException, ExecutionException, TimeoutException {
        CompletableFuture<HttpResponse<Void>> answer =
                client.sendAsync(request, HttpResponse.BodyHandlers.discarding());
        try {
            return answer.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS).statusCode();
        } finally {
            answer.cancel(true);
        }
    }
}
