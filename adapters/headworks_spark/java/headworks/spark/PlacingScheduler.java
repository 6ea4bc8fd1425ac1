package headworks.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;

/** Spark's task scheduler, except that the tasks of a scope with a placement table run where the table says. */
public final class PlacingScheduler extends TaskSchedulerImpl {
    private final Placement placement;

    /** Made by a cluster manager. */
    public PlacingScheduler(SparkContext context) {
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
