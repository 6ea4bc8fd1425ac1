package headworks.spark;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;

/**
 * Runs an application on a standalone cluster with Headworks's task scheduler, for master URLs that start with PREFIX.
 *
 * The prefix begins as Spark's own local-cluster does: under any other, Spark gives an executor one core instead of
 * all cores of its worker.
 */
public final class ClusterManager implements ExternalClusterManager {
    static final String PREFIX = "local-cluster-hw://";
    static final String STANDALONE = "spark://";

    public boolean canCreate(String url) {
        return url.startsWith(PREFIX);
    }

    public TaskScheduler createTaskScheduler(SparkContext context, String url) {
        MasterClaim.restore(context);
        return new PlacingScheduler(context);
    }

    public SchedulerBackend createSchedulerBackend(SparkContext context, String url, TaskScheduler scheduler) {
        String[] masters = url.substring(PREFIX.length()).split(",");
        for (int i = 0; i < masters.length; i++) {
            masters[i] = STANDALONE + masters[i];
        }
        return new StandaloneSchedulerBackend((TaskSchedulerImpl) scheduler, context, masters);
    }

    public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
        ((TaskSchedulerImpl) scheduler).initialize(backend);
    }
}
