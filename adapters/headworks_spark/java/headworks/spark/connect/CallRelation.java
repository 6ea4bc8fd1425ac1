package headworks.spark.connect;

import java.util.Collections;
import java.util.Optional;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connect.planner.SparkConnectPlanner;
import org.apache.spark.sql.connect.plugin.RelationPlugin;

/** Calls that answer, as relations of Spark Connect: the answer is the one value of a table, as JSON. */
public final class CallRelation implements RelationPlugin {
    public Optional<LogicalPlan> transform(byte[] relation, SparkConnectPlanner planner) {
        String call = Calls.read(relation);
        if (call == null) {
            return Optional.empty();
        }
        String answer = Calls.answer(planner.session(), call);
        Dataset<?> rows = planner.session().createDataset(Collections.singletonList(answer), Encoders.STRING());
        return Optional.of(rows.queryExecution().analyzed());
    }
}
