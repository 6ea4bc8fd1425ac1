package headgate.storm.workload;

import java.io.Serializable;

/** Nexmark's bids, each made from a seed and the event's number alone: those of `headgate.engines.nexmark`. */
final class Nexmark implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Time of the first event in ms since the epoch, and of 50 events the first that is a bid. */
    static final long BEGIN = 1_436_918_400_000L;
    static final int PERIOD = 50;
    static final int FIRST_BID = 4;

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int AUCTIONS = 3;
    private static final int FIRST_ID = 1000;
    private static final int HOT_AUCTION = 2;
    private static final int HOT_BIDDER = 4;
    private static final int HOT_OF = 100;
    private static final int OPEN = 100;
    private static final int ACTIVE = 1000;
    private static final int LEAD = 10;
    private static final int DRAW_HOT_AUCTION = 10;
    private static final int DRAW_AUCTION = 11;
    private static final int DRAW_HOT_BIDDER = 12;
    private static final int DRAW_BIDDER = 13;
    private static final int DRAW_PRICE = 14;

    private final long seed;
    private final double microsPerEvent;

    /** @param rate events per second of event time */
    Nexmark(long seed, double rate) {
        this.seed = seed;
        microsPerEvent = 1e6 / rate;
    }

    static boolean isBid(long number) {
        return number % PERIOD >= FIRST_BID;
    }

    long time(long number) {
        return BEGIN + (long) (number * microsPerEvent) / 1000;
    }

    long auction(long number) {
        long last = number / PERIOD * AUCTIONS + AUCTIONS - 1;
        if (below(HOT_AUCTION, number, DRAW_HOT_AUCTION) > 0) {
            return last / HOT_OF * HOT_OF + FIRST_ID;
        }
        long oldest = Math.max(last - OPEN, 0);
        return oldest + below(last - oldest + 1 + LEAD, number, DRAW_AUCTION) + FIRST_ID;
    }

    long bidder(long number) {
        long last = number / PERIOD;
        if (below(HOT_BIDDER, number, DRAW_HOT_BIDDER) > 0) {
            return last / HOT_OF * HOT_OF + 1 + FIRST_ID;
        }
        long active = Math.min(last + 1, ACTIVE);
        return last + 1 - active + below(active + LEAD, number, DRAW_BIDDER) + FIRST_ID;
    }

    long price(long number) {
        double part = (bits(number, DRAW_PRICE) >>> 11) * 0x1p-53;
        return (long) Math.floor(Math.pow(10.0, part * 6.0) * 100.0 + 0.5);
    }

    private long below(long bound, long number, int draw) {
        return (bits(number, draw) >>> 1) % bound;
    }

    /** SplitMix64 at a place of the sequence of a draw. */
    private long bits(long number, int draw) {
        return mixed(number * GOLDEN + mixed(seed * GOLDEN + draw));
    }

    private static long mixed(long bits) {
        long one = (bits ^ bits >>> 30) * 0xBF58476D1CE4E5B9L;
        long two = (one ^ one >>> 27) * 0x94D049BB133111EBL;
        return two ^ two >>> 31;
    }
}
