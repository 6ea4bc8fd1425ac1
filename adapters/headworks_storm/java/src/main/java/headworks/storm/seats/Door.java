package headworks.storm.seats;

import java.util.Map;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.utils.Utils;

/** The way to seats for a program that submits: what is refused, and what stays where it is, is printed. */
public final class Door {
    /** Begins the line of a topology that is not submitted. */
    static final String REFUSES = "headworks refuses: ";
    /** Begins the line of a component without seats. */
    static final String NOTES = "headworks notes: ";

    private Door() {
    }

    /**
     * Rewrite a topology that this program is about to submit; the program ends with 1 if that is refused.
     *
     * @param topology rewritten in place
     * @param conf its settings, which say what has seats, rewritten in place
     */
    public static void seat(StormTopology topology, Map<String, Object> conf) {
        try {
            rewrite(topology, conf);
        } catch (Refusal refusal) {
            System.out.println(REFUSES + refusal.getMessage());
            System.exit(1);
        }
    }

    /** Rewrite a topology with the settings of this client, and print what stays where it is. */
    static void rewrite(StormTopology topology, Map<String, Object> conf) {
        Map<String, Object> cluster = Utils.readStormConfig();
        cluster.putAll(Utils.readCommandLineOpts());
        Transform.apply(topology, conf, cluster).forEach(note -> System.out.println(NOTES + note));
    }
}
