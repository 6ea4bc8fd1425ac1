package headgate.storm.workload;

/** Prints the first bids of Nexmark as CSV: auction, bidder, price, time. Arguments: events, seed, events per second. */
public final class NexmarkBids {
    private NexmarkBids() {
    }

    public static void main(String[] arguments) {
        Nexmark nexmark = new Nexmark(Long.parseLong(arguments[1]), Double.parseDouble(arguments[2]));
        StringBuilder lines = new StringBuilder();
        for (long number = 0; number < Long.parseLong(arguments[0]); number++) {
            if (Nexmark.isBid(number)) {
                lines.append(nexmark.auction(number)).append(',').append(nexmark.bidder(number)).append(',')
                        .append(nexmark.price(number)).append(',').append(nexmark.time(number)).append('\n');
            }
        }
        System.out.print(lines);
    }
}
