package headworks.storm.workload;

import java.util.List;
import java.util.Map;
import org.apache.storm.task.TopologyContext;

/**
 * Says how many tuples are due at a steady rate; what was missed is made up for, but no more than a second of it.
 *
 * <p>It is a source that goes on, whether or not its spout is asked: what arrived there, and what was taken of it, are
 * gauges of the names that Storm's Kafka spout uses. The rate may change by the clock, as {@code headworks.load.parts}
 * of a topology says: it has each of these parts in turn, for {@code headworks.load.seconds} seconds.
 */
final class Pace {
    private final double perNano;
    private final List<?> parts;
    private final double seconds;
    private volatile long last;
    private double due;
    private volatile double arrived;
    private volatile long taken;

    /** @param perSecond tuples per second; 0 or less means as many as possible */
    Pace(double perSecond, Map<String, Object> conf) {
        perNano = perSecond / 1e9;
        last = System.nanoTime();
        parts = (List<?>) conf.getOrDefault("headworks.load.parts", List.of(1));
        seconds = ((Number) conf.getOrDefault("headworks.load.seconds", 60)).doubleValue();
    }

    /** What arrived since a tuple was last asked for. */
    private double since(long now) {
        long turn = (long) (System.currentTimeMillis() / 1000.0 / seconds);
        return (now - last) * perNano * ((Number) parts.get((int) (turn % parts.size()))).doubleValue();
    }

    /** Shows the source to whoever reads a worker's gauges; one without a rate of its own has nothing to show. */
    Pace shown(TopologyContext context) {
        if (perNano > 0) {
            context.registerGauge("source/totalLatestTimeOffset", () -> (long) (arrived + since(System.nanoTime())));
            context.registerGauge("source/totalLatestEmittedOffset", () -> taken);
        }
        return this;
    }

    /** Whether one more tuple is due now; asking for it takes it. */
    boolean take() {
        if (perNano <= 0) {
            return true;
        }
        long now = System.nanoTime();
        double more = since(now);
        due = Math.min(due + more, Math.max(1, perNano * 1e9));
        arrived += more;
        last = now;
        if (due < 1) {
            return false;
        }
        due -= 1;
        taken++;
        return true;
    }
}
