package headworks.storm.seats;

import java.util.Map;
import org.apache.storm.generated.InvalidTopologyException;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.nimbus.ITopologyValidator;
import org.apache.storm.utils.WrappedInvalidTopologyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operator's way to seats: named as {@code nimbus.topology.validator}, it rewrites each topology whose configuration has
 * {@code headworks.seats.movable} before Nimbus stores it, and leaves all others alone.
 */
public final class Validator implements ITopologyValidator {
    private static final Logger LOG = LoggerFactory.getLogger(Validator.class);

    private Map<String, Object> cluster = Map.of();

    @Override
    public void prepare(Map<String, Object> conf) {
        cluster = conf;
    }

    @Override
    public void validate(String name, Map<String, Object> conf, StormTopology topology) throws InvalidTopologyException {
        if (conf.get(Transform.MOVABLE) == null || conf.containsKey(Seating.KEY)) {
            return; // without seats, or rewritten by who submitted it
        }
        try {
            // Nimbus copies the struct only after this.
            Transform.apply(topology, conf, cluster).forEach(note -> LOG.info("{}: {}", name, note));
        } catch (Refusal refusal) {
            throw new WrappedInvalidTopologyException(refusal.getMessage());
        }
    }
}
