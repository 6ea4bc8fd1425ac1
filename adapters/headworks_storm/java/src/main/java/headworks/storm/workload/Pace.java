package headworks.storm.workload;

import org.apache.storm.task.TopologyContext;

/**
 * Says how many tuples are due at a steady rate; what was missed is made up for, but no more than a second of it.
 *
 * <p>It is a source that goes on, whether or not its spout is asked: what arrived there, and what was taken of it, are
 * gauges of the names that Storm's Kafka spout uses.
 */
final class Pace {
    private final double perNano;
    private long last;
    private final long start;
    private double due;
    private volatile long taken;

    /** @param perSecond tuples per second; 0 or less means as many as possible */
    Pace(double perSecond) {
        perNano = perSecond / 1e9;
        last = System.nanoTime();
        start = last;
    }

    /** Shows the source to whoever reads a worker's gauges; one without a rate of its own has nothing to show. */
    Pace shown(TopologyContext context) {
        if (perNano > 0) {
            context.registerGauge("source/totalLatestTimeOffset", () -> (long) ((System.nanoTime() - start) * perNano));
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
        due = Math.min(due + (now - last) * perNano, Math.max(1, perNano * 1e9));
        last = now;
        if (due < 1) {
            return false;
        }
        due -= 1;
        taken++;
        return true;
    }
}
