package headworks.spark;

import java.util.Properties;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The policy that a job asks for, by one setting: of the application, of the session, which Spark makes a property of
 * each of its jobs, or a local property. `off` in the first session of an application is for running queries too,
 * which have copies of its settings.
 */
final class PolicyChoice {
    static final String SETTING = "spark.headworks.policy";
    private static final String OFF = "off";
    private static final Logger LOG = LoggerFactory.getLogger(PolicyChoice.class);

    private PolicyChoice() {
    }

    /** Say which policy an application asks for, or that there is none of that name. */
    static void announce(SparkConf conf) {
        String name = known(conf.get(SETTING, OFF));
        if (name != null) {
            LOG.info("Headworks: tasks are placed by the policy " + name + " (" + SETTING + "=off leaves them to Spark)");
        }
    }

    /** The policy for a job; null if Spark alone places its tasks. */
    static String of(Properties properties, SparkConf conf) {
        String own = properties == null ? null : properties.getProperty(SETTING);
        String name = known(own == null ? conf.get(SETTING, OFF) : own);
        // A job with the property is one of SQL: its session has settings, which are not made here while Spark waits.
        return name != null && own != null && isOff() ? null : name;
    }

    private static boolean isOff() {
        Option<?> session = SparkSession.getDefaultSession();
        return session.isDefined() && ((SparkSession) (Object) session.get()).conf().get(SETTING, "").equals(OFF);
    }

    /** A name if it is one of a policy; else null, which is said once unless it means none. */
    private static String known(String name) {
        if (PlacementPolicy.NAMES.contains(name)) {
            return name;
        }
        if (!name.equals(OFF)) {
            Faults.say(SETTING + " is '" + name + "', and policies are " + PlacementPolicy.NAMES
                + ": Spark places tasks as if alone", null);
        }
        return null;
    }
}
