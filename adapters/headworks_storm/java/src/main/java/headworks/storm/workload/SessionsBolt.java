package headworks.storm.workload;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 11, user sessions: bids of each bidder in a session, which a pause of ten seconds ends. */
public final class SessionsBolt extends ClockedBolt {
    private static final long serialVersionUID = 1L;

    /** Of each bidder, last time and number of bids of the open sessions, by their first time. */
    private final Map<Long, TreeMap<Long, long[]>> sessions = new HashMap<>();

    @Override
    void event(Tuple bid, BasicOutputCollector collector) {
        TreeMap<Long, long[]> own = sessions.computeIfAbsent(bid.getLong(1), each -> new TreeMap<>());
        long first = bid.getLong(3);
        long[] joined = {first, 1};
        // Tasks of the spout differ in pace: a bid may come before, after or between those that are there.
        Map.Entry<Long, long[]> each = own.floorEntry(first + Nexmark.WINDOW);
        while (each != null && each.getValue()[0] + Nexmark.WINDOW >= first) {
            own.remove(each.getKey());
            joined[0] = Math.max(joined[0], each.getValue()[0]);
            joined[1] += each.getValue()[1];
            first = Math.min(first, each.getKey());
            each = own.floorEntry(first + Nexmark.WINDOW);
        }
        own.put(first, joined);
    }

    @Override
    void closed(long time, BasicOutputCollector collector) {
        for (Iterator<Map.Entry<Long, TreeMap<Long, long[]>>> bidders = sessions.entrySet().iterator(); bidders
                .hasNext();) {
            Map.Entry<Long, TreeMap<Long, long[]>> bidder = bidders.next();
            bidder.getValue().entrySet().removeIf(each -> {
                long until = each.getValue()[0] + Nexmark.WINDOW;
                boolean over = until < time;
                if (over) {
                    collector.emit(new Values(bidder.getKey(), each.getValue()[1], each.getKey(), until));
                }
                return over;
            });
            if (bidder.getValue().isEmpty()) {
                bidders.remove();
            }
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("bidder", "bids", "start", "until"));
    }
}
