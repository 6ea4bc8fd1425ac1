package headworks.spark.yarn;

import headworks.spark.MasterClaim;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.cluster.YarnClusterManager;

/** Runs an application on YARN as Spark's own manager does, with Headworks's task schedulers in place of Spark's. */
public final class YarnManager extends YarnClusterManager {
    public boolean canCreate(String url) {
        return url.equals(MasterClaim.CLAIMED_PREFIX + MasterClaim.YARN);
    }

    public TaskScheduler createTaskScheduler(SparkContext context, String url) {
        MasterClaim.restore(context);
        if (context.deployMode().equals("cluster")) {
            return new PlacingYarnClusterScheduler(context);
        }
        return new PlacingYarnScheduler(context);
    }
}
