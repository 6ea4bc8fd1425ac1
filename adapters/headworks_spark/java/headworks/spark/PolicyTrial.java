package headworks.spark;

import java.util.Arrays;
import java.util.Random;

/**
 * Whether jobs of one kind take longer under a policy than by Spark alone: times in, a verdict out, none of Spark.
 *
 * While a trial lasts, one job of a group is left to Spark, at random, so that nothing that goes up and down with time
 * looks like an effect. It is compared with the median of the others: each is as likely above as below if all are alike.
 * Groups have four jobs, as each that is left to Spark keeps executors busy, and two while the policy looks slower.
 * Each pair adds to a score, by Wald's sequential test: a policy that is no slower than the bound in half of all pairs is
 * found slower in one trial of a hundred at most, and others are mostly found soon.
 */
public final class PolicyTrial {
    /** Jobs at first, under the policy, that do not count: code is compiled, caches fill, and idle executors may go. */
    private static final int WARM = 8;
    /** Jobs of a group; all but one are an odd number, so that the median is one of them. If larger, trials are longer. */
    private static final int GROUP = 4;
    private static final int SUSPECT = 2;
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
    /** Jobs of the group, how many of them began, and which one is left to Spark. */
    private int group = GROUP;
    private int begins = 0;
    private int left = 0;
    /** Seconds of jobs under the policy since the last pair, the latest in turn, and how many there were. */
    private final double[] latest = new double[GROUP - 1];
    private int ended = 0;
    /** Seconds of a job of Spark alone without partners yet; negative if there is none. */
    private double oneAlone = -1;
    /** When the trial began; negative before. */
    private double begun = -1;
    private double rest = 0;
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
        if (warm < WARM) {
            return false;
        }
        if (begins == 0) {
            regroup(score > 0 ? SUSPECT : GROUP);
        }
        boolean isLeft = begins == left;
        begins = (begins + 1) % group;
        return isLeft;
    }

    private void regroup(int size) {
        if (size != group) {
            ended = 0;
            oneAlone = -1;
        }
        group = size;
        left = random.nextInt(size);
    }

    /** Take in the seconds of a job, if it is none of the first; true if the policy is found slower by this one. */
    public boolean add(boolean wasLeft, double seconds, double now) {
        if (rests(now) || warm < WARM) {
            warm++;
            return false;
        }
        if (wasLeft) {
            oneAlone = seconds;
        } else {
            latest[ended % (group - 1)] = seconds;
            ended++;
        }
        if (oneAlone >= 0 && ended >= group - 1) {
            pair(median(latest, group - 1), now);
        }
        return isOver;
    }

    private void pair(double onePlaced, double now) {
        boolean isSlower = onePlaced > bound * oneAlone + TICK;
        placed[pairs] = onePlaced;
        alone[pairs] = oneAlone;
        pairs++;
        slower += isSlower ? 1 : 0;
        score += Math.log((isSlower ? SHARE : 1 - SHARE) / 0.5);
        ended = 0;
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
            + rounded(median(placed, pairs)) + " s beside " + rounded(median(alone, pairs)) + " s";
    }

    private static double rounded(double seconds) {
        return Math.round(1000 * seconds) / 1000.0;
    }

    private static double median(double[] times, int count) {
        double[] sorted = Arrays.copyOf(times, count);
        Arrays.sort(sorted);
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    }
}
