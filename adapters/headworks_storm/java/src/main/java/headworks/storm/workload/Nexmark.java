package headworks.storm.workload;

import java.io.Serializable;
import org.apache.storm.tuple.Values;

/** Nexmark's events, each made from a seed and its number alone: those of `headworks_lab.nexmark`. */
final class Nexmark implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Time of the first event in ms since the epoch. */
    static final long BEGIN = 1_436_918_400_000L;

    /** Length of the windows of the queries in ms, and the pause that ends a session. */
    static final long WINDOW = 10_000;

    /** Kinds of events: of 50 in a row so many, from a place on. */
    enum Kind {
        PERSON(1, 0), AUCTION(3, 1), BID(46, 4);

        final int many;
        private final int first;

        Kind(int many, int first) {
            this.many = many;
            this.first = first;
        }

        /** Number of the event that is the so-many-th of its kind, counted from 0. */
        long number(long index) {
            return index / many * PERIOD + first + index % many;
        }
    }

    static final int PERIOD = 50;

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int AUCTIONS = 3;
    private static final int FIRST_ID = 1000;
    private static final int FIRST_CATEGORY = 10;
    private static final int CATEGORIES = 5;
    private static final String[] STATES = {"AZ", "CA", "ID", "OR", "WA", "WY"};
    private static final String[] CITIES = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend",
        "Redmond", "Seattle", "Kent", "Cheyenne"};
    private static final String[] FIRST_NAMES = {"Ada", "Edsger", "Grace", "Barbara", "Donald", "Frances", "John",
        "Leslie", "Robin", "Tony"};
    private static final String[] LAST_NAMES = {"Allen", "Backus", "Dijkstra", "Hoare", "Hopper", "Knuth", "Lamport",
        "Liskov", "Lovelace", "Milner"};
    private static final int HOT_SELLER = 4;
    private static final int HOT_AUCTION = 2;
    private static final int HOT_BIDDER = 4;
    private static final int HOT_OF = 100;
    private static final int OPEN = 100;
    private static final int ACTIVE = 1000;
    private static final int LEAD = 10;
    private static final long AHEAD = (long) OPEN * PERIOD / AUCTIONS;
    private static final int DRAW_FIRST_NAME = 0;
    private static final int DRAW_LAST_NAME = 1;
    private static final int DRAW_CITY = 2;
    private static final int DRAW_STATE = 3;
    private static final int DRAW_HOT_SELLER = 4;
    private static final int DRAW_SELLER = 5;
    private static final int DRAW_CATEGORY = 6;
    private static final int DRAW_INITIAL = 7;
    private static final int DRAW_RESERVE = 8;
    private static final int DRAW_LENGTH = 9;
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

    long time(long number) {
        return BEGIN + (long) (number * microsPerEvent) / 1000;
    }

    /** The person that an event is: id, name, city, state, time. */
    Values person(long number) {
        String name = FIRST_NAMES[(int) below(FIRST_NAMES.length, number, DRAW_FIRST_NAME)] + " "
                + LAST_NAMES[(int) below(LAST_NAMES.length, number, DRAW_LAST_NAME)];
        return new Values(number / PERIOD + FIRST_ID, name, CITIES[(int) below(CITIES.length, number, DRAW_CITY)],
                STATES[(int) below(STATES.length, number, DRAW_STATE)], time(number));
    }

    /** The auction that an event is: id, seller, category, initial bid and reserve in cents, time, end. */
    Values auction(long number) {
        long last = number / PERIOD;
        boolean hot = below(HOT_SELLER, number, DRAW_HOT_SELLER) > 0;
        long seller = hot ? last / HOT_OF * HOT_OF : active(number, DRAW_SELLER);
        long initial = price(number, DRAW_INITIAL);
        long time = time(number);
        long mean = time(number + AHEAD) - time;
        return new Values(lastAuction(number) + FIRST_ID, seller + FIRST_ID,
                FIRST_CATEGORY + below(CATEGORIES, number, DRAW_CATEGORY), initial,
                initial + price(number, DRAW_RESERVE), time,
                time + 1 + below(Math.max(2 * mean, 1), number, DRAW_LENGTH));
    }

    /** The bid that an event is: auction, bidder, price in cents, time. */
    Values bid(long number) {
        long last = number / PERIOD;
        boolean hot = below(HOT_BIDDER, number, DRAW_HOT_BIDDER) > 0;
        long bidder = hot ? last / HOT_OF * HOT_OF + 1 : active(number, DRAW_BIDDER);
        return new Values(open(number) + FIRST_ID, bidder + FIRST_ID, price(number, DRAW_PRICE), time(number));
    }

    /** The auction that a bid is for, counted from 0. */
    private long open(long number) {
        long last = lastAuction(number);
        if (below(HOT_AUCTION, number, DRAW_HOT_AUCTION) > 0) {
            return last / HOT_OF * HOT_OF;
        }
        long oldest = Math.max(last - OPEN, 0);
        return oldest + below(last - oldest + 1 + LEAD, number, DRAW_AUCTION);
    }

    /** The last auction up to an event that is no person, counted from 0. */
    private static long lastAuction(long number) {
        return number / PERIOD * AUCTIONS + Math.min(number % PERIOD - 1, AUCTIONS - 1);
    }

    /** Any active person, counted from 0. */
    private long active(long number, int draw) {
        long people = number / PERIOD + 1;
        long active = Math.min(people, ACTIVE);
        return people - active + below(active + LEAD, number, draw);
    }

    private long price(long number, int draw) {
        double part = (bits(number, draw) >>> 11) * 0x1p-53;
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
