package headworks.storm.workload;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Nexmark's query 4, its first half: the highest bid for each of its auctions, from its begin on and before its end.
 *
 * <p>Of the auctions that began in the same ten seconds of event time it emits, when all of them have ended, sum and
 * number of winning bids by category; one tuple, also if it had none.
 */
public final class WinningBidsBolt extends ClockedBolt {
    private static final long serialVersionUID = 1L;

    /** Of each auction that has not ended: category, begin, end, and the highest bid, 0 for none. */
    private final Map<Long, long[]> auctions = new HashMap<>();

    /** Price and time of bids for auctions that are not known, by auction: theirs may come from a slower task. */
    private final Map<Long, List<long[]>> early = new HashMap<>();

    /** Sum and number of winning bids, by start of the window and category. */
    private final TreeMap<Long, Map<Long, long[]>> won = new TreeMap<>();
    private long next = Nexmark.BEGIN / Nexmark.WINDOW * Nexmark.WINDOW;

    @Override
    void event(Tuple tuple, BasicOutputCollector collector) {
        if (tuple.contains("category")) {
            long[] auction = {tuple.getLong(2), tuple.getLong(5), tuple.getLong(6), 0};
            auctions.put(tuple.getLong(0), auction);
            List<long[]> before = early.remove(tuple.getLong(0));
            if (before != null) {
                before.forEach(bid -> bid(auction, bid[0], bid[1]));
            }
            return;
        }
        long[] auction = auctions.get(tuple.getLong(0));
        long price = tuple.getLong(2);
        long time = tuple.getLong(3);
        if (auction != null) {
            bid(auction, price, time);
        } else {
            early.computeIfAbsent(tuple.getLong(0), each -> new ArrayList<>()).add(new long[] {price, time});
        }
    }

    private static void bid(long[] auction, long price, long time) {
        if (time >= auction[1] && time < auction[2]) {
            auction[3] = Math.max(auction[3], price);
        }
    }

    @Override
    void closed(long time, BasicOutputCollector collector) {
        // The auction of a bid began before it: of one that has ended, or has not begun by then, no bid counts.
        early.values().removeIf(bids -> {
            bids.removeIf(bid -> bid[1] < time);
            return bids.isEmpty();
        });
        long open = Long.MAX_VALUE;
        for (Iterator<long[]> each = auctions.values().iterator(); each.hasNext();) {
            long[] auction = each.next();
            if (auction[2] > time) {
                open = Math.min(open, auction[1]);
                continue;
            }
            if (auction[3] > 0) {
                long[] sum = won.computeIfAbsent(auction[1] / Nexmark.WINDOW * Nexmark.WINDOW, start -> new HashMap<>())
                        .computeIfAbsent(auction[0], category -> new long[2]);
                sum[0] += auction[3];
                sum[1]++;
            }
            each.remove();
        }
        tell(Math.min(open, time), collector);
    }

    /** Emits the windows of which no auction is open or to come. */
    private void tell(long first, BasicOutputCollector collector) {
        for (; next + Nexmark.WINDOW <= first; next += Nexmark.WINDOW) {
            List<List<Object>> rows = new ArrayList<>();
            Map<Long, long[]> window = won.remove(next);
            if (window != null) {
                window.forEach((category, sum) -> rows.add(new ArrayList<>(List.of(category, sum[0], sum[1]))));
            }
            collector.emit(new Values(next, tasks, rows));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("start", "tasks", "categories"));
    }
}
