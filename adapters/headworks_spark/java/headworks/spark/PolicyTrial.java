package headworks.spark;

import java.util.Arrays;
import java.util.Random;

/**
 * Whether jobs of one kind take longer under a policy than by Spark alone: times in, a verdict out, none of Spark.
 *
 * While a trial lasts, one of two jobs is left to Spark, at random, so that nothing that goes up and down with time
 * looks like an effect. Each pair of them adds to a score, by Wald's sequential test: a policy that is no slower than the
 * bound in half of all pairs is found slower in one trial of a hundred at most, and others are mostly found soon.
 */
public final class PolicyTrial {
    /** Pairs that do not count at first: code is compiled meanwhile, and caches fill. */
    private static final int WARM = 2;
    /** Pairs that end a trial without a verdict: if more, a policy that costs a little is compared for longer. */
    private static final int MOST = 50;
    /** Share of slower pairs that is told from half of them: if smaller, a verdict takes more pairs. */
    private static final double SHARE = 0.8;
    private static final double FALSE_ALARM = 0.01;
    private static final double MISS = 0.05;
    private static final double UPPER = Math.log((1 - MISS) / FALSE_ALARM);
    private static final double LOWER = Math.log(MISS / (1 - FALSE_ALARM));
    /** Seconds to the next trial at least, and as a multiple of the last one: if smaller, more is left to Spark alone. */
    private static final double REST = 600;
    private static final double RESTS = 9;
    /** Seconds: times are whole milliseconds. */
    private static final double TICK = 0.001;

    private final double bound;
    private final Random random;
    private final double[] placed = new double[MOST];
    private final double[] alone = new double[MOST];
    private int pairs = 0;
    private int slower = 0;
    private int warm = 0;
    private double score = 0;
    /** Seconds of a job without a partner yet; negative if there is none. */
    private double onePlaced = -1;
    private double oneAlone = -1;
    /** When the trial began; negative before. */
    private double begun = -1;
    private double rest = 0;
    private boolean isHalf = false;
    private boolean wasAlone = false;
    private boolean isOver = false;

    /**
     * Begin without a time.
     *
     * @param bound how many times as long a job may take under the policy
     */
    public PolicyTrial(double bound, long seed) {
        this.bound = bound;
        random = new Random(seed);
    }

    /** True if the policy was found slower: jobs of this kind are Spark's from then on. */
    public boolean isOver() {
        return isOver;
    }

    /** True if jobs that begin now are not compared. */
    public boolean rests(double now) {
        return isOver || now < rest;
    }

    /** True if Spark alone is to run the job that begins now. */
    public boolean leaves(double now) {
        if (rests(now)) {
            return isOver;
        }
        begun = begun < 0 ? now : begun;
        wasAlone = isHalf ? !wasAlone : random.nextBoolean();
        isHalf = !isHalf;
        return wasAlone;
    }

    /** Take in the seconds of a job; true if the policy is found slower by this one. */
    public boolean add(boolean wasLeft, double seconds, double now) {
        if (rests(now)) {
            return false;
        }
        oneAlone = wasLeft ? seconds : oneAlone;
        onePlaced = wasLeft ? onePlaced : seconds;
        if (oneAlone >= 0 && onePlaced >= 0) {
            pair(now);
        }
        return isOver;
    }

    private void pair(double now) {
        if (warm < WARM) {
            warm++;
        } else {
            boolean isSlower = onePlaced > bound * oneAlone + TICK;
            placed[pairs] = onePlaced;
            alone[pairs] = oneAlone;
            pairs++;
            slower += isSlower ? 1 : 0;
            score += Math.log((isSlower ? SHARE : 1 - SHARE) / 0.5);
        }
        onePlaced = -1;
        oneAlone = -1;
        isOver = score >= UPPER;
        if (!isOver && (score <= LOWER || pairs == MOST)) {
            rest = now + Math.max(REST, RESTS * (now - begun));
            begun = -1;
            pairs = 0;
            slower = 0;
            score = 0;
        }
    }

    /** The pairs of the trial, in words. */
    public String words() {
        return slower + " of " + pairs + " pairs took more than " + bound + " times as long as by Spark alone, the median "
            + median(placed) + " s beside " + median(alone) + " s";
    }

    private String median(double[] times) {
        double[] sorted = Arrays.copyOf(times, pairs);
        Arrays.sort(sorted);
        return String.valueOf(Math.round(1000 * (sorted[(pairs - 1) / 2] + sorted[pairs / 2]) / 2) / 1000.0);
    }
}
