package headworks.spark;

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Headworks's task scheduler in an application whose master URL is what it always was: `spark.plugins` names this class.
 *
 * Spark starts plugins just before it asks for a task scheduler by the master URL, so that for this one question the URL
 * is the cluster manager's own, which puts it back.
 */
public final class PlacementPlugin implements SparkPlugin {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementPlugin.class);
    /** Place in the jar of the version of Spark that it was compiled against. */
    private static final String BUILT = "/META-INF/headworks/spark";

    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    public ExecutorPlugin executorPlugin() {
        return null;
    }

    /** Claims the master URL. */
    public static final class Driver implements DriverPlugin {
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            String refusal = refusal(context);
            if (refusal == null) {
                ConnectCalls.open(context.conf());
            } else {
                LOG.warn("Headworks places no task" + refusal);
            }
            return new HashMap<String, String>();
        }
    }

    /** Why Spark schedules as if it were alone; null if it does not. */
    private static String refusal(SparkContext context) {
        String built = built();
        if (!built.equals(context.version())) {
            return ": its jar is for Spark " + built + ", and this is " + context.version()
                + "; `headworks spark jar` beside this Spark writes one for it";
        }
        Set<String> missing = SparkMembers.missing("core");
        missing.addAll(SparkMembers.missing(MasterClaim.part(context)));
        if (!missing.isEmpty()) {
            return ": this Spark " + built + " is another build than that of its jar, and lacks " + missing
                + "; `headworks spark jar` beside this Spark writes one for it";
        }
        return MasterClaim.claim(context) ? null : " under " + context.master()
            + ": its task scheduler runs on standalone clusters, on YARN and on Kubernetes";
    }

    /** The version of Spark that this jar was compiled against. */
    private static String built() {
        try {
            InputStream stream = PlacementPlugin.class.getResourceAsStream(BUILT);
            try {
                return new BufferedReader(new InputStreamReader(stream, "UTF-8")).readLine();
            } finally {
                stream.close();
            }
        } catch (Exception error) {
            return "an unknown version";
        }
    }
}
