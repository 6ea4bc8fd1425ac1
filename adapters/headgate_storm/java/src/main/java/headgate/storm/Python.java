package headgate.storm;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import py4j.ClientServer;
import py4j.Py4JException;

/**
 * The planner in the Python process, over py4j with Java as the client: no port is opened here.
 *
 * Each round has a connection of its own (1 ms on the loopback): nothing is stale after Python was started again, and
 * an answer that comes too late finds nobody.
 */
final class Python implements Planner {
    /** py4j logs every command whole, at INFO; the logger is kept, because its level goes when it is collected. */
    private static final Logger PY4J = Logger.getLogger("py4j");
    private static final String RAISED = "An exception was raised by the Python Proxy. Return Message: ";

    static {
        PY4J.setLevel(Level.OFF);
    }

    private final Settings settings;

    Python(Settings settings) {
        this.settings = settings;
    }

    @Override
    public String answer(String round) {
        Endpoint endpoint = Endpoint.read(settings.endpoint);
        ClientServer client = new ClientServer.ClientServerBuilder()
            .javaPort(0)
            .autoStartJavaServer(false)
            .pythonPort(endpoint.port)
            .authToken(endpoint.token)
            .readTimeout(settings.timeout)
            .socketFactory(new InterruptibleSockets(settings.timeout))
            .build();
        try {
            return ((Planner) client.getPythonServerEntryPoint(new Class<?>[] {Planner.class})).answer(round);
        } catch (Py4JException e) {
            throw NoPlan.unanswered(reason(e));
        } finally {
            client.shutdown();
        }
    }

    /** Why a call failed, without the payload that messages of py4j hold. */
    private String reason(Py4JException error) {
        String message = String.valueOf(error.getMessage());
        if (message.startsWith(RAISED)) {
            return "it raised " + lastLine(message.substring(RAISED.length()));
        }
        if (message.startsWith("Incompatible output type")) {
            return "it answered with no text";
        }
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConnectException) {
                return "connection refused";
            }
            if (cause instanceof SocketTimeoutException) {
                return "nothing within " + settings.timeout + " ms";
            }
            if (cause instanceof IOException && String.valueOf(cause.getMessage()).startsWith("Authentication")) {
                return "it does not accept the token in " + settings.endpoint;
            }
        }
        return "the connection broke";
    }

    private static String lastLine(String traceback) {
        String text = traceback.trim();
        return text.substring(text.lastIndexOf('\n') + 1);
    }
}
