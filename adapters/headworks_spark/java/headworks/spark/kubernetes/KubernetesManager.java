package headworks.spark.kubernetes;

import headworks.spark.MasterClaim;
import headworks.spark.PlacingScheduler;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager;

/** Runs an application on Kubernetes as Spark's own manager does, with Headworks's task scheduler in place of Spark's. */
public final class KubernetesManager extends KubernetesClusterManager {
    public boolean canCreate(String url) {
        return url.startsWith(MasterClaim.CLAIMED_PREFIX + MasterClaim.KUBERNETES);
    }

    public TaskScheduler createTaskScheduler(SparkContext context, String url) {
        MasterClaim.restore(context);
        return new PlacingScheduler(context);
    }

    public SchedulerBackend createSchedulerBackend(SparkContext context, String url, TaskScheduler scheduler) {
        return super.createSchedulerBackend(context, url.substring(MasterClaim.CLAIMED_PREFIX.length()), scheduler);
    }
}
