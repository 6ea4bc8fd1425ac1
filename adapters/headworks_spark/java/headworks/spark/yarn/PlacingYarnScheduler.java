package headworks.spark.yarn;

import headworks.spark.Placement;
import headworks.spark.PlacementMetrics;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.scheduler.cluster.YarnScheduler;

/** Spark's task scheduler on YARN, the driver being the client's; tasks with places run there. */
final class PlacingYarnScheduler extends YarnScheduler {
    private final Placement placement;

    PlacingYarnScheduler(SparkContext context) {
        super(context);
        placement = new Placement(this, context);
    }

    public void postStartHook() {
        super.postStartHook();
        PlacementMetrics.show();
    }

    public TaskSetManager createTaskSetManager(TaskSet set, int maxTaskFailures) {
        TaskSetManager placed = placement.place(set, maxTaskFailures);
        return placed == null ? super.createTaskSetManager(set, maxTaskFailures) : placed;
    }
}
