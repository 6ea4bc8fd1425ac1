package headworks.storm.monitor;

import headworks.storm.peer.Proof;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.security.auth.Subject;
import org.apache.storm.Config;
import org.apache.storm.security.INimbusCredentialPlugin;
import org.apache.storm.security.auth.IAutoCredentials;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands each topology its own token for the collector, by Storm's credentials: no worker has to read the file of the
 * token that they are all made of.
 *
 * On Nimbus it is one of `nimbus.autocredential.plugins.classes`, and puts the token among the credentials of a
 * topology that is submitted; in a worker it is one of `topology.auto-credentials`, and takes it from there.
 */
public final class TopologyToken implements INimbusCredentialPlugin, IAutoCredentials {
    private static final Logger LOG = LoggerFactory.getLogger(TopologyToken.class);
    private static final String KEY = "headworks.collector.token ";
    /** By topology: in a local cluster workers share a process. */
    private static final Map<String, String> TOKENS = new ConcurrentHashMap<>();

    private Map<String, Object> conf = Map.of();

    @Override
    public void prepare(Map<String, Object> conf) {
        this.conf = conf;
    }

    /** On Nimbus. A submission does not fail for a token that is not there: its workers then report nothing. */
    @Override
    @SuppressWarnings("deprecation") // the one that Nimbus calls, up to 2.8
    public void populateCredentials(Map<String, String> credentials, Map<String, Object> topology) {
        try {
            String id = topology.get(Config.STORM_ID).toString();
            String secret = secret((String) conf.get(Settings.TOKEN), (String) conf.get(Settings.TOKEN_FILE));
            credentials.put(KEY + id, Proof.derive(secret, id));
        } catch (Exception error) {
            LOG.warn("A topology is submitted without a token for the collector: {}", error.toString());
        }
    }

    /** The token of a worker's topology: the one it was handed, else made of the one that it can read. */
    static String of(String topology, Settings settings) throws IOException {
        String handed = TOKENS.get(topology);
        return handed != null ? handed : Proof.derive(secret(settings.token, settings.tokenFile), topology);
    }

    /** The file is read each time: a new token needs no restart of workers. */
    private static String secret(String token, String file) throws IOException {
        String secret = token != null || file == null ? token : Files.readString(Path.of(file));
        if (secret == null || secret.trim().isEmpty()) {
            throw new IOException("there is no token: neither credentials, " + Settings.TOKEN + " nor "
                + Settings.TOKEN_FILE);
        }
        return secret.trim();
    }

    /** In a client: nothing, for it knows no token. */
    @Override
    public void populateCredentials(Map<String, String> credentials) {
    }

    @Override
    public void populateSubject(Subject subject, Map<String, String> credentials) {
        if (credentials != null) {
            credentials.forEach((key, token) -> {
                if (key.startsWith(KEY)) {
                    TOKENS.put(key.substring(KEY.length()), token);
                }
            });
        }
    }

    @Override
    public void updateSubject(Subject subject, Map<String, String> credentials) {
        populateSubject(subject, credentials);
    }

    @Override
    public void shutdown() {
    }
}
