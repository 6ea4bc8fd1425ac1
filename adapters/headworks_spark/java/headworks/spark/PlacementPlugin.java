package headworks.spark;

import java.util.HashMap;
import java.util.Map;
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

    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    public ExecutorPlugin executorPlugin() {
        return null;
    }

    /** Claims the master URL. */
    public static final class Driver implements DriverPlugin {
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            if (!MasterClaim.claim(context)) {
                LOG.warn("Headworks places no task under " + context.master()
                    + ": its task scheduler runs on standalone clusters, on YARN and on Kubernetes");
            }
            return new HashMap<String, String>();
        }
    }
}
