package headworks.storm;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import org.apache.storm.DaemonConfig;
import org.apache.storm.scheduler.DefaultScheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What storm.yaml says to the bridge. A value that cannot be used gives way to the default, never to an exception. */
final class Settings {
    static final String ENDPOINT = "headworks.endpoint";
    static final String TIMEOUT = "headworks.timeout.ms";
    static final String OWN = "headworks.own.scheduler";
    static final String SHADOW = "headworks.shadow";
    static final int DEFAULT_TIMEOUT = 5000;
    static final int LEAST_TIMEOUT = 100;
    private static final Logger LOG = LoggerFactory.getLogger(Settings.class);

    /** The file that the Python process writes, see {@link Endpoint}; null if storm.yaml names none. */
    final Path endpoint;
    /** Milliseconds that a round waits for its answer: at most nine tenths of the time between two rounds. */
    final int timeout;
    /** Class name of the scheduler that the cluster had before Headworks. */
    final String own;
    /** Whether that one acts, and not only stands in, until Python answers for the first time. */
    final boolean shadow;

    private Settings(Path endpoint, int timeout, String own, boolean shadow) {
        this.endpoint = endpoint;
        this.timeout = timeout;
        this.own = own;
        this.shadow = shadow;
    }

    static Settings of(Map<String, Object> conf) {
        String own = text(conf.get(OWN));
        int most = 900 * number(conf.get(DaemonConfig.NIMBUS_MONITOR_FREQ_SECS), 10);
        int asked = number(conf.get(TIMEOUT), DEFAULT_TIMEOUT);
        return new Settings(
            path(text(conf.get(ENDPOINT))),
            Math.max(LEAST_TIMEOUT, Math.min(asked, most)),
            own == null ? DefaultScheduler.class.getName() : own,
            Boolean.parseBoolean(text(conf.get(SHADOW))));
    }

    private static Path path(String file) {
        try {
            return file == null ? null : Paths.get(file);
        } catch (InvalidPathException e) {
            LOG.error("{} is no path, and counts as not set: {}", ENDPOINT, e.getMessage());
            return null;
        }
    }

    private static String text(Object value) {
        return value == null || value.toString().isEmpty() ? null : value.toString();
    }

    private static int number(Object value, int otherwise) {
        return value instanceof Number ? ((Number) value).intValue() : otherwise;
    }
}
