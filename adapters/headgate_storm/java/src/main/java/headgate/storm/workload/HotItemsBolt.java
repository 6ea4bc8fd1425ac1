package headgate.storm.workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Nexmark's query 5, its first half: counts the bids for each of its auctions in sliding windows of event time.
 *
 * <p>When each spout's task has said that its later bids are later, it emits the auctions with most bids of its own;
 * one tuple for a window, also if it had none.
 */
public final class HotItemsBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    static final long SLIDE = 2000;
    static final long WINDOW = 10_000;

    private transient int tasks;
    private final Map<Long, Map<Long, Long>> counts = new HashMap<>();
    private final Map<Integer, Long> clocks = new HashMap<>();
    private long next = Nexmark.BEGIN / SLIDE * SLIDE - WINDOW + SLIDE;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        tasks = context.getComponentTasks(context.getThisComponentId()).size();
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        if ("clock".equals(tuple.getSourceStreamId())) {
            clocks.put(tuple.getInteger(0), tuple.getLong(2));
            if (clocks.size() == tuple.getInteger(1)) {
                close(Collections.min(clocks.values()), collector);
            }
            return;
        }
        long last = tuple.getLong(3) / SLIDE * SLIDE;
        for (long start = last; start > last - WINDOW; start -= SLIDE) {
            counts.computeIfAbsent(start, window -> new HashMap<>()).merge(tuple.getLong(0), 1L, Long::sum);
        }
    }

    private void close(long time, BasicOutputCollector collector) {
        for (; next + WINDOW <= time; next += SLIDE) {
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
