package headworks.storm.seats;

import java.util.List;
import java.util.function.Function;
import org.apache.storm.Config;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.utils.ObjectReader;

/** What a topology must not have if any of its components is to have seats, and what is said of one without. */
final class Refusals {
    private static final List<String> BATCHES =
            List.of(Config.TOPOLOGY_PRODUCER_BATCH_SIZE, Config.TOPOLOGY_TRANSFER_BATCH_SIZE);

    private Refusals() {
    }

    /**
     * Check a topology of which some component is to have seats.
     *
     * @param topology as its user built it
     * @param settings of it, with those of the cluster
     * @throws Refusal if it cannot have any
     */
    static void check(StormTopology topology, Function<String, Object> settings) {
        topology.get_bolts().forEach((id, bolt) -> {
            if (Kinds.of(bolt.get_bolt_object()).trident()) {
                throw new Refusal("the topology is one of Trident (" + id + "), whose batches count tasks: "
                    + "none of its components can have seats");
            }
        });
        for (String key : BATCHES) {
            if (ObjectReader.getInt(settings.apply(key), 1) > 1) {
                throw new Refusal(key + " is " + settings.apply(key) + ": batches of a thread would overtake the markers "
                    + "of a move; set it to 1");
            }
        }
        if (ObjectReader.getInt(settings.apply(Config.TOPOLOGY_EXECUTOR_OVERFLOW_LIMIT), 0) > 0) {
            throw new Refusal(Config.TOPOLOGY_EXECUTOR_OVERFLOW_LIMIT + " is "
                + settings.apply(Config.TOPOLOGY_EXECUTOR_OVERFLOW_LIMIT)
                + ": Storm would drop what a task sends while it moves; set it to 0");
        }
    }

    /** The sentence for a bolt of whose state nothing was said. */
    static String undeclared(String id, Kinds kind) {
        String seen = kind.fields.isEmpty() ? "none is serialised" : "serialised are " + String.join(", ", kind.fields);
        return id + " (" + kind.simple() + ") stays where it is, as nothing is said of its state: say --movable " + id
            + "=stateless, or --movable " + id + "=fields:A,B with the fields that change as it executes (" + seen
            + "; transient ones are not seen), or implement headworks.storm.seats.Movable and say --movable " + id + "=movable";
    }
}
