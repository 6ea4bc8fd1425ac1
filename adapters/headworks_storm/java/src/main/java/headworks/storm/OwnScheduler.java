package headworks.storm;

import java.util.Map;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.EvenScheduler;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.utils.ReflectionUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The scheduler of Storm that the cluster had before Headworks: it acts in shadow mode, and stands in without a plan. */
final class OwnScheduler {
    private static final Logger LOG = LoggerFactory.getLogger(OwnScheduler.class);

    private final IScheduler scheduler;

    private OwnScheduler(IScheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Create and prepare it; Storm's default one if that fails. */
    static OwnScheduler prepared(String className, Map<String, Object> conf, StormMetricsRegistry metrics) {
        try {
            if (HeadworksScheduler.class.getName().equals(className)) {
                throw new IllegalArgumentException(Settings.OWN + " names Headworks's own class");
            }
            IScheduler scheduler = ReflectionUtils.newInstance(className);
            scheduler.prepare(conf, metrics);
            return new OwnScheduler(scheduler);
        } catch (Throwable e) {
            LOG.error("{} {} cannot be used; {} takes its place", Settings.OWN, className, DefaultScheduler.class, e);
            return new OwnScheduler(new DefaultScheduler());
        }
    }

    /** Act as if Headworks were not there; a failure, which alone would end Nimbus, leaves the cluster as it was. */
    void schedule(Topologies topologies, Cluster cluster) {
        Restore.unlessDone(cluster, () -> scheduler.schedule(topologies, cluster));
    }

    /**
     * The one that places executors when there is no plan.
     *
     * The default scheduler frees slots that look uneven to it, which restarts workers; the even one, which it is made
     * of, never frees any.
     */
    IScheduler standIn() {
        return scheduler instanceof DefaultScheduler ? new EvenScheduler() : scheduler;
    }

    void cleanup() {
        scheduler.cleanup();
    }
}
