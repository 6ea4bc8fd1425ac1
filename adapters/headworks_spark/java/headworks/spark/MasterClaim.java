package headworks.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;

/**
 * Puts a master URL of Headworks's in place of an application's own, for the one moment in which Spark asks for the task
 * scheduler by it.
 */
public final class MasterClaim {
    /** What an application's own URL has in front meanwhile, on YARN and on Kubernetes. */
    public static final String CLAIMED_PREFIX = "headworks-";
    /** Begin of the URLs of Kubernetes. */
    public static final String KUBERNETES = "k8s://";
    /** The URL of YARN. */
    public static final String YARN = "yarn";
    private static final String MASTER = "spark.master";
    /** The class for YARN: a Spark that was built without YARN has none to extend, and the jar for it has none. */
    private static final String YARN_MANAGER = "headworks.spark.yarn.YarnManager";
    /** The class for Kubernetes, likewise. */
    private static final String KUBERNETES_MANAGER = "headworks.spark.kubernetes.KubernetesManager";
    /** Where it begins with `local`, a driver on Kubernetes has no executors but itself. */
    private static final String KUBERNETES_DRIVER_MASTER = "spark.kubernetes.driver.master";
    /** Contexts whose own URL has to be put back; a JVM starts one at a time. */
    private static final Map<SparkContext, String> CLAIMED =
        Collections.synchronizedMap(new HashMap<SparkContext, String>());

    private MasterClaim() {
    }

    /** Let Spark ask a manager of Headworks's for the task scheduler; false if there is none for this cluster. */
    static boolean claim(SparkContext context) {
        String own = context.conf().get(MASTER);
        String claimed = null;
        if (own.startsWith(ClusterManager.STANDALONE)) {
            claimed = ClusterManager.PREFIX + own.substring(ClusterManager.STANDALONE.length());
        } else if (own.equals(YARN) && exists(YARN_MANAGER) || isKubernetes(context, own)) {
            claimed = CLAIMED_PREFIX + own;
        }
        if (claimed != null) {
            CLAIMED.put(context, own);
            context.conf().set(MASTER, claimed);
        }
        return claimed != null || own.startsWith(ClusterManager.PREFIX);
    }

    /** The part of the jar for the cluster of an application; "" if it needs no more than the core. */
    static String part(SparkContext context) {
        String own = context.conf().get(MASTER);
        return own.equals(YARN) ? YARN : own.startsWith(KUBERNETES) ? "kubernetes" : "";
    }

    /** Put the application's own URL back, if it was claimed. */
    public static void restore(SparkContext context) {
        String own = (String) CLAIMED.remove(context);
        if (own != null) {
            context.conf().set(MASTER, own);
        }
    }

    private static boolean isKubernetes(SparkContext context, String own) {
        return own.startsWith(KUBERNETES)
            && !context.conf().get(KUBERNETES_DRIVER_MASTER, "").startsWith("local")
            && exists(KUBERNETES_MANAGER);
    }

    static boolean exists(String name) {
        try {
            Class.forName(name, false, MasterClaim.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException error) {
            return false;
        } catch (LinkageError error) {
            return false;
        }
    }
}
