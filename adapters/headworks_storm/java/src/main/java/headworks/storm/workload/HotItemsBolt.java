package headworks.storm.workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Nexmark's query 5, its first half: counts the bids for each of its auctions in sliding windows of event time.
 *
 * <p>Of a window that is over it emits the auctions with most bids of its own; one tuple, also if it had none.
 */
public final class HotItemsBolt extends ClockedBolt {
    private static final long serialVersionUID = 1L;
    private static final long SLIDE = 2000;

    private final Map<Long, Map<Long, Long>> counts = new HashMap<>();
    private long next = Nexmark.BEGIN / SLIDE * SLIDE - Nexmark.WINDOW + SLIDE;

    @Override
    void event(Tuple bid, BasicOutputCollector collector) {
        long last = bid.getLong(3) / SLIDE * SLIDE;
        for (long start = last; start > last - Nexmark.WINDOW; start -= SLIDE) {
            counts.computeIfAbsent(start, window -> new HashMap<>()).merge(bid.getLong(0), 1L, Long::sum);
        }
    }

    @Override
    void closed(long time, BasicOutputCollector collector) {
        for (; next + Nexmark.WINDOW <= time; next += SLIDE) {
            Map<Long, Long> window = counts.getOrDefault(next, Map.of());
            long most = window.isEmpty() ? 0 : Collections.max(window.values());
            List<Long> auctions = new ArrayList<>();
            window.forEach((auction, count) -> {
                if (count == most) {
                    auctions.add(auction);
                }
            });
            collector.emit(new Values(next, tasks, most, auctions));
            counts.remove(next);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("start", "tasks", "bids", "auctions"));
    }
}
