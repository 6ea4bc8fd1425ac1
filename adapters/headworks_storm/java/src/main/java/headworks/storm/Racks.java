package headworks.storm;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.networktopography.AbstractDNSToSwitchMapping;
import org.apache.storm.utils.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Racks by host as storm.yaml says them in {@value #RACKS}; what {@code storm.network.topography.plugin} may name.
 *
 * Nimbus makes one each round, and each worker one for each shuffle grouping. A host that is not named, and all hosts
 * if the setting is no map, have Storm's default rack.
 */
public final class Racks extends AbstractDNSToSwitchMapping {
    static final String RACKS = "headworks.racks";

    private final Map<?, ?> racks;

    /** Called by Storm, which hands on no settings: those of this process are read, once. */
    public Racks() {
        this(Own.CONF);
    }

    Racks(Map<String, Object> conf) {
        Object said = conf.get(RACKS);
        this.racks = said instanceof Map ? (Map<?, ?>) said : Map.of();
    }

    @Override
    public Map<String, String> resolve(List<String> names) {
        Map<String, String> found = new HashMap<>();
        for (String name : names) {
            Object rack = racks.get(name);
            found.put(name, rack == null ? DEFAULT_RACK : rack.toString());
        }
        return found;
    }

    /** The settings of this process, which it read when it started too. */
    private static final class Own {
        private static final Logger LOG = LoggerFactory.getLogger(Racks.class);
        private static final Map<String, Object> CONF = read();

        private static Map<String, Object> read() {
            Map<String, Object> conf = Utils.readStormConfig();
            if (!(conf.get(RACKS) instanceof Map)) {
                LOG.error("{} is no map of racks by host, so all hosts are in one: {}", RACKS, conf.get(RACKS));
            }
            return conf;
        }
    }
}
