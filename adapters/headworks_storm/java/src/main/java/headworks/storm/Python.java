package headworks.storm;

import headworks.storm.peer.Proof;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.logging.Level;
import java.util.logging.Logger;
import py4j.CallbackConnection;
import py4j.Protocol;
import py4j.Py4JException;
import py4j.StringUtil;

/**
 * The planner in the Python process, called by py4j's protocol: one call out, one line in, and no port is opened here.
 *
 * Nothing that comes back is a command: what executes commands of the other side in py4j is not used. Each round has a
 * connection of its own (1 ms on the loopback): nothing is stale after Python was started again, and an answer that
 * comes too late finds nobody.
 */
final class Python implements Planner {
    /** Characters of an answer. One for 10,000 executors has 0.1 MB; with many more, a reply could fill Nimbus's heap. */
    static final int LONGEST = 64 << 20;
    /**
     * py4j logs every command whole, at INFO; the logger is kept, because its level goes when it is collected. It is
     * asked for its package, which is another one in the jar.
     */
    private static final Logger PY4J = Logger.getLogger(CallbackConnection.class.getPackageName());

    static {
        PY4J.setLevel(Level.OFF);
    }

    private final Settings settings;
    private final Breaker breaker;

    Python(Settings settings) {
        this.settings = settings;
        this.breaker = new Breaker(settings.timeout);
    }

    @Override
    public String answer(String round) {
        Endpoint endpoint = Endpoint.read(settings.endpoint);
        ListenerOwner.check(endpoint.port);
        CallbackConnection python = connection(endpoint);
        try {
            python.start();
            String reply = python.sendCommand(call(round));
            breaker.heard();
            return text(reply);
        } catch (Py4JException | IOException e) {
            throw NoPlan.unanswered(reason(e));
        } finally {
            python.shutdown(true);
        }
    }

    private CallbackConnection connection(Endpoint endpoint) {
        ProvenSockets sockets = new ProvenSockets(endpoint, breaker.millis());
        return new CallbackConnection(endpoint.port, InetAddress.getLoopbackAddress(), sockets, settings.timeout) {
            @Override
            protected String readBlockingResponse(BufferedReader reader) throws IOException {
                return line(reader);
            }
        };
    }

    private static String call(String round) {
        return "c\n" + Protocol.ENTRY_POINT_OBJECT_ID + "\nanswer\n" + Protocol.STRING_TYPE + StringUtil.escape(round)
            + "\n" + Protocol.END + "\n";
    }

    /** A line, which is not kept beyond the longest answer. */
    private static String line(BufferedReader reader) throws IOException {
        StringBuilder line = new StringBuilder();
        char[] some = new char[1 << 16];
        for (int count = reader.read(some); count >= 0; count = reader.read(some)) {
            line.append(some, 0, count);
            if (some[count - 1] == '\n') { // nothing follows the one reply to the one call
                return line.substring(0, line.length() - 1);
            }
            if (line.length() > LONGEST) {
                throw new TooLong();
            }
        }
        return null;
    }

    private static String text(String reply) {
        if (reply.startsWith("" + Protocol.ERROR + Protocol.STRING_TYPE)) {
            throw NoPlan.unanswered("it raised " + StringUtil.unescape(reply.substring(2)));
        }
        if (!reply.startsWith("" + Protocol.SUCCESS + Protocol.STRING_TYPE)) {
            throw NoPlan.unanswered("it answered with no text");
        }
        return StringUtil.unescape(reply.substring(2));
    }

    /** Why a call failed, without the payload that messages of py4j hold. */
    private String reason(Exception error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof SocketTimeoutException || cause instanceof ClosedByInterruptException) {
                breaker.silence();
                return breaker.reason();
            }
            if (cause instanceof ConnectException) {
                breaker.heard();
                return "connection refused";
            }
            if (cause instanceof Proof.Stranger) {
                return "who listens there does not know the token in " + settings.endpoint;
            }
            if (cause instanceof TooLong) {
                return "an answer of more than " + (LONGEST >> 20) + " MB";
            }
        }
        return "the connection broke";
    }

    private static final class TooLong extends IOException {
        private static final long serialVersionUID = 1L;
    }
}
