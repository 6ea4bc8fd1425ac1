package headworks.storm;

import org.apache.storm.scheduler.Cluster;

/** Changes a cluster wholly or not at all. */
final class Restore {
    private Restore() {
    }

    /** Run a change; if it fails, put the cluster back as it was and let the failure go on. */
    static void unlessDone(Cluster cluster, Runnable change) {
        Cluster before = new Cluster(cluster);
        boolean done = false;
        try {
            change.run();
            done = true;
        } finally {
            if (!done) {
                cluster.updateFrom(before);
            }
        }
    }
}
