package headworks.storm.workload;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Nexmark's query 7, its first half: keeps the highest of its bids in each ten seconds of event time.
 *
 * <p>Of a window that is over it emits their price and all of them; one tuple, also if it had none.
 */
public final class HighBidsBolt extends ClockedBolt {
    private static final long serialVersionUID = 1L;

    private final Map<Long, Long> prices = new HashMap<>();
    private final Map<Long, List<List<Object>>> bids = new HashMap<>();
    private long next = Nexmark.BEGIN / Nexmark.WINDOW * Nexmark.WINDOW;

    @Override
    void event(Tuple bid, BasicOutputCollector collector) {
        long start = bid.getLong(3) / Nexmark.WINDOW * Nexmark.WINDOW;
        long price = bid.getLong(2);
        if (price > prices.getOrDefault(start, 0L)) {
            prices.put(start, price);
            bids.put(start, new ArrayList<>());
        }
        if (price == prices.get(start)) {
            bids.get(start).add(new ArrayList<>(bid.getValues()));
        }
    }

    @Override
    void closed(long time, BasicOutputCollector collector) {
        for (; next + Nexmark.WINDOW <= time; next += Nexmark.WINDOW) {
            List<List<Object>> highest = bids.remove(next);
            long price = highest == null ? 0 : prices.remove(next);
            collector.emit(new Values(next, tasks, price, highest == null ? new ArrayList<>() : highest));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("start", "tasks", "price", "highest"));
    }
}
