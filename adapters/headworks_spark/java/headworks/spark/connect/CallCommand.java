package headworks.spark.connect;

import org.apache.spark.sql.connect.planner.SparkConnectPlanner;
import org.apache.spark.sql.connect.plugin.CommandPlugin;

/** Calls that answer nothing, as commands of Spark Connect: each is made once. */
public final class CallCommand implements CommandPlugin {
    public boolean process(byte[] command, SparkConnectPlanner planner) {
        String call = Calls.read(command);
        if (call != null) {
            Calls.answer(planner.session(), call);
        }
        return call != null;
    }
}
