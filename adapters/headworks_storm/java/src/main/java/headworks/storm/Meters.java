package headworks.storm;

import com.codahale.metrics.Meter;
import com.codahale.metrics.Timer;
import java.util.function.Supplier;
import org.apache.storm.metric.StormMetricsRegistry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What Nimbus's own metrics reporters tell of Headworks; what cannot be registered is counted for nobody. */
final class Meters {
    private static final Logger LOG = LoggerFactory.getLogger(Meters.class);

    /** Rounds with a plan. */
    final Meter planned;
    /** Rounds without one. */
    final Meter held;
    /** Workers that plans started anew. */
    final Meter started;
    /** Time of a round. */
    final Timer round;

    Meters(StormMetricsRegistry registry) {
        planned = or(() -> registry.registerMeter("headworks:num-rounds-planned"), Meter::new);
        held = or(() -> registry.registerMeter("headworks:num-rounds-held"), Meter::new);
        started = or(() -> registry.registerMeter("headworks:num-workers-started"), Meter::new);
        round = or(() -> registry.registerTimer("headworks:round-duration"), Timer::new);
    }

    private static <T> T or(Supplier<T> registered, Supplier<T> otherwise) {
        try {
            return registered.get();
        } catch (RuntimeException e) {
            LOG.error("A metric of Headworks cannot be registered", e);
            return otherwise.get();
        }
    }
}
