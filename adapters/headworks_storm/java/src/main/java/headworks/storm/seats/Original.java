package headworks.storm.seats;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.utils.Utils;

/** The topology as its user built it, read back from the one with seats. */
final class Original {
    private static final ByteBuffer AGENT = ByteBuffer.wrap(Utils.javaSerialize(new Agent()));

    private Original() {
    }

    /**
     * Put back each component that carries its own description; those without, Storm's own, are left out.
     *
     * @param seated with seats, with or without Storm's own components
     */
    static StormTopology of(StormTopology seated) {
        StormTopology plain = seated.deepCopy();
        Map<String, Bolt> bolts = new HashMap<>();
        seated.get_bolts().forEach((id, bolt) -> {
            Wrapped wrapped = wrapped(bolt.get_bolt_object());
            if (wrapped != null) {
                bolts.put(id, Wrapped.read(wrapped.spec(), Bolt.class));
            }
        });
        Map<String, SpoutSpec> spouts = new HashMap<>();
        seated.get_spouts().forEach((id, spout) -> {
            Wrapped wrapped = wrapped(spout.get_spout_object());
            if (wrapped != null) {
                spouts.put(id, Wrapped.read(wrapped.spec(), SpoutSpec.class));
            }
        });
        if (plain.is_set_worker_hooks()) {
            plain.get_worker_hooks().removeIf(AGENT::equals);
            plain.set_worker_hooks(plain.get_worker_hooks().isEmpty() ? null : plain.get_worker_hooks());
        }
        plain.set_bolts(bolts);
        plain.set_spouts(spouts);
        return plain;
    }

    private static Wrapped wrapped(ComponentObject object) {
        if (!object.is_set_serialized_java() || !Kinds.of(object).wrapped()) {
            return null;
        }
        return (Wrapped) Utils.javaDeserialize(object.get_serialized_java(), Object.class);
    }
}
