package headworks.storm.workload;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 4, its second half: average winning bids by category and window, when all tasks told theirs. */
public final class AverageBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final Map<Long, Integer> told = new HashMap<>();
    private final Map<Long, Map<Long, long[]>> sums = new HashMap<>();

    @Override
    @SuppressWarnings("unchecked")
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        long start = tuple.getLong(0);
        Map<Long, long[]> window = sums.computeIfAbsent(start, each -> new HashMap<>());
        for (List<Object> row : (List<List<Object>>) tuple.getValue(2)) {
            long[] sum = window.computeIfAbsent((Long) row.get(0), category -> new long[2]);
            sum[0] += (Long) row.get(1);
            sum[1] += (Long) row.get(2);
        }
        if (told.merge(start, 1, Integer::sum) == tuple.getInteger(1)) {
            window.forEach((category, sum) ->
                    collector.emit(new Values(category, start, (double) sum[0] / sum[1])));
            told.remove(start);
            sums.remove(start);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("category", "start", "average"));
    }
}
