package headworks.spark;

import org.apache.spark.SparkConf;

/** Lets clients of a Connect server call this jar, where the application is one: Connect reads the settings later. */
final class ConnectCalls {
    private static final String[][] PLUGINS = {
        {"spark.connect.extensions.command.classes", "headworks.spark.connect.CallCommand"},
        {"spark.connect.extensions.relation.classes", "headworks.spark.connect.CallRelation"},
    };

    private ConnectCalls() {
    }

    /** Add the jar's two plugins to those that the server loads; none in a jar for a Spark without Connect. */
    static void open(SparkConf conf) {
        for (int i = 0; i < PLUGINS.length && MasterClaim.exists(PLUGINS[i][1]); i++) {
            String others = conf.get(PLUGINS[i][0], "");
            conf.set(PLUGINS[i][0], others.isEmpty() ? PLUGINS[i][1] : others + "," + PLUGINS[i][1]);
        }
    }
}
