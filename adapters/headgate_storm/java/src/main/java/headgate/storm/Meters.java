package headgate.storm;

import com.codahale.metrics.Meter;
import com.codahale.metrics.Timer;
import org.apache.storm.metric.StormMetricsRegistry;

/** What Nimbus's own metrics reporters tell of Headgate. */
final class Meters {
    /** Rounds with a plan. */
    final Meter planned;
    /** Rounds without one. */
    final Meter held;
    /** Workers that plans started anew. */
    final Meter started;
    /** Time of a round. */
    final Timer round;

    Meters(StormMetricsRegistry registry) {
        planned = registry.registerMeter("headgate:num-rounds-planned");
        held = registry.registerMeter("headgate:num-rounds-held");
        started = registry.registerMeter("headgate:num-workers-started");
        round = registry.registerTimer("headgate:round-duration");
    }
}
