package headworks.storm.workload;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 5, its second half: of each window, the auctions with most bids of all, when all tasks told theirs. */
public class HottestBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final Map<Long, Integer> told = new HashMap<>();
    private final Map<Long, Long> most = new HashMap<>();
    private final Map<Long, List<Object>> hottest = new HashMap<>();

    @Override
    @SuppressWarnings("unchecked")
    public final void execute(Tuple tuple, BasicOutputCollector collector) {
        long start = tuple.getLong(0);
        long high = tuple.getLong(2);
        if (high > most.getOrDefault(start, 0L)) {
            most.put(start, high);
            hottest.put(start, new ArrayList<>());
        }
        if (high > 0 && high == most.get(start)) {
            hottest.get(start).addAll((List<Object>) tuple.getValue(3));
        }
        if (told.merge(start, 1, Integer::sum) == tuple.getInteger(1)) {
            long highest = most.getOrDefault(start, 0L);
            hottest.getOrDefault(start, List.of()).forEach(each -> collector.emit(answer(start, each, highest)));
            List.of(told, most, hottest).forEach(each -> each.remove(start));
        }
    }

    /** The answer of one of those that share the first place of a window. */
    Values answer(long start, Object first, long highest) {
        return new Values(start, first, highest);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("start", "auction", "bids"));
    }
}
