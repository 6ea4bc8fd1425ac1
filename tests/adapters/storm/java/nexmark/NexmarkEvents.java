package headworks.storm.workload;

import org.apache.storm.tuple.Values;

/** Prints the first events of a kind of Nexmark as CSV. Arguments: kind, how many, seed, events per second. */
public final class NexmarkEvents {
    private NexmarkEvents() {
    }

    public static void main(String[] arguments) {
        Nexmark.Kind kind = Nexmark.Kind.valueOf(arguments[0]);
        Nexmark nexmark = new Nexmark(Long.parseLong(arguments[2]), Double.parseDouble(arguments[3]));
        StringBuilder lines = new StringBuilder();
        for (long index = 0; index < Long.parseLong(arguments[1]); index++) {
            long number = kind.number(index);
            Values event = kind == Nexmark.Kind.BID ? nexmark.bid(number)
                    : kind == Nexmark.Kind.AUCTION ? nexmark.auction(number) : nexmark.person(number);
            event.forEach(value -> lines.append(value).append(','));
            lines.setCharAt(lines.length() - 1, '\n');
        }
        System.out.print(lines);
    }
}
