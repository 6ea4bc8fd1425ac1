package headgate.spark;

import java.lang.reflect.Field;
import java.util.Properties;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.HostTaskLocation;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;
import scala.collection.mutable.HashSet;

/** Spark's task scheduler, except that the tasks of a scope with a placement table run where the table says. */
final class PlacingScheduler extends TaskSchedulerImpl {
    private static final String[] SCOPE = {"headgate.scope", "sql.streaming.queryId", "spark.jobGroup.id"};

    PlacingScheduler(SparkContext context) {
        super(context);
    }

    public TaskSetManager createTaskSetManager(TaskSet set, int maxTaskFailures) {
        String scope = scope(set.properties());
        if (!PlacementTable.has(scope)) {
            return super.createTaskSetManager(set, maxTaskFailures);
        }
        int stage = ordinal(set);
        for (int i = 0; i < set.tasks().length; i++) {
            place(set.tasks()[i], scope, stage);
        }
        return new PlacedTaskSet(this, set, maxTaskFailures, scope, stage);
    }

    /** Make the host that the table names the one preferred location of a task; anywhere if nothing is alive there. */
    void place(Task<?> task, String scope, int stage) {
        String host = PlacementTable.host(scope, stage, task.partitionId());
        if (host != null) {
            List<?> anywhere = (List<?>) Nil$.MODULE$;
            prefer(task, hasExecutorsAliveOnHost(host) ? only(new HostTaskLocation(host)) : anywhere);
        }
    }

    private static String scope(Properties properties) {
        String scope = null;
        for (int i = 0; properties != null && scope == null && i < SCOPE.length; i++) {
            scope = properties.getProperty(SCOPE[i]);
        }
        return scope;
    }

    /** Rank of the stage among the stages of its job (which is what a task set calls its priority). */
    private int ordinal(TaskSet set) {
        Option<?> stages = dagScheduler().jobIdToStageIds().get((Object) Integer.valueOf(set.priority()));
        int rank = 0;
        if (stages.isDefined()) {
            Iterator<?> ids = ((HashSet<?>) stages.get()).iterator();
            while (ids.hasNext()) {
                rank += ((Integer) ids.next()).intValue() < set.stageId() ? 1 : 0;
            }
        }
        return rank;
    }

    private static List<?> only(Object location) {
        return ((List<Object>) (List<?>) Nil$.MODULE$).$colon$colon(location);
    }

    /** Both kinds of task keep their locations in a private final field; no constructor sets it later. */
    private static void prefer(Task<?> task, List<?> locations) {
        try {
            Field field = task.getClass().getDeclaredField("preferredLocs");
            field.setAccessible(true);
            field.set(task, locations);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("Headgate cannot place tasks on this version of Spark: " + error, error);
        }
    }
}
