package headworks.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;

/**
 * What became of tasks with places since the driver started, in Spark's own metrics of the driver, and so in each sink
 * that it has: `headworks.placed` counts tasks that ran where asked, `headworks.left.REASON` those that did not, and
 * `headworks.scopes` is the number of queries and job groups that have a table.
 */
public final class PlacementMetrics implements Source {
    private static final String[] REASONS =
        {"adaptive", "barrier", "busy", "crowded", "failed", "fault", "gone", "held", "shape"};
    private static final MetricRegistry METRICS = new MetricRegistry();

    static {
        METRICS.counter("placed");
        for (int i = 0; i < REASONS.length; i++) {
            METRICS.counter("left." + REASONS[i]);
        }
        METRICS.register("scopes", new Scopes());
    }

    private PlacementMetrics() {
    }

    public String sourceName() {
        return "headworks";
    }

    public MetricRegistry metricRegistry() {
        return METRICS;
    }

    /** Called when the application is known to Spark, by whose id metrics are named. */
    public static void show() {
        try {
            SparkEnv.get().metricsSystem().registerSource(new PlacementMetrics());
        } catch (Throwable error) {
            Faults.say("its metrics are not shown: " + error, error);
        }
    }

    static void placed() {
        METRICS.counter("placed").inc();
    }

    /** Count tasks; of a reason, what follows a colon is left out. */
    static void left(String reason, int tasks) {
        METRICS.counter("left." + reason.split(":")[0]).inc(tasks);
    }

    /** Scopes that have a table. */
    private static final class Scopes implements Gauge<Object> {
        public Object getValue() {
            return Integer.valueOf(PlacementTable.scopes());
        }
    }
}
