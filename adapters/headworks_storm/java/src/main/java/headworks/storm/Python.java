package headworks.storm;

import headworks.storm.peer.Proof;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.ConnectException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import py4j.Protocol;
import py4j.StringUtil;

/**
 * The planner in the Python process, called by py4j's protocol: one call out, one line in, and no port is opened here.
 *
 * Nothing that comes back is a command: of py4j it has the syntax, and nothing that executes commands of the other side,
 * or that logs them whole. Each round has a connection of its own (1 ms on the loopback): nothing is stale after Python
 * was started again, and an answer that comes too late finds nobody.
 */
final class Python implements Planner {
    /** Characters of an answer. One for 10,000 executors has 0.1 MB; with many more, a reply could fill Nimbus's heap. */
    static final int LONGEST = 64 << 20;

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
        try (Socket python = ProvenSocket.open(endpoint, breaker.millis())) {
            python.setSoTimeout(settings.timeout);
            python.getOutputStream().write(call(round).getBytes(StandardCharsets.UTF_8));
            String reply = line(new InputStreamReader(python.getInputStream(), StandardCharsets.UTF_8));
            breaker.heard();
            return text(reply);
        } catch (IOException e) {
            throw NoPlan.unanswered(reason(e));
        }
    }

    private static String call(String round) {
        return "c\n" + Protocol.ENTRY_POINT_OBJECT_ID + "\nanswer\n" + Protocol.STRING_TYPE + StringUtil.escape(round)
            + "\n" + Protocol.END + "\n";
    }

    /** A line, which is not kept beyond the longest answer. */
    private static String line(Reader reader) throws IOException {
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
        throw new EOFException();
    }

    private static String text(String reply) {
        String failed = "" + Protocol.RETURN_MESSAGE + Protocol.ERROR + Protocol.STRING_TYPE;
        String answered = "" + Protocol.RETURN_MESSAGE + Protocol.SUCCESS + Protocol.STRING_TYPE;
        if (reply.startsWith(failed)) {
            throw NoPlan.unanswered("it raised " + StringUtil.unescape(reply.substring(failed.length())));
        }
        if (!reply.startsWith(answered)) {
            throw NoPlan.unanswered("it answered with no text");
        }
        return StringUtil.unescape(reply.substring(answered.length()));
    }

    /** Why a call failed. */
    private String reason(IOException error) {
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
