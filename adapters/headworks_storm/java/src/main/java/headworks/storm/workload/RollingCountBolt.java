package headworks.storm.workload;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.TupleUtils;

/** Counts words over the last seconds, and emits the counts once a second. */
public final class RollingCountBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    private static final int SECONDS = 9;

    private final Deque<Map<String, Long>> window = new ArrayDeque<>(SECONDS);
    private Map<String, Long> now = new HashMap<>();

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        if (TupleUtils.isTick(tuple)) {
            emit(collector);
            slide();
        } else {
            now.merge(tuple.getString(0), 1L, Long::sum);
        }
    }

    private void emit(BasicOutputCollector collector) {
        Map<String, Long> sum = new HashMap<>(now);
        window.forEach(second -> second.forEach((word, count) -> sum.merge(word, count, Long::sum)));
        sum.forEach((word, count) -> collector.emit(new Values(word, count)));
    }

    private void slide() {
        window.addLast(now);
        now = new HashMap<>();
        if (window.size() == SECONDS) {
            window.removeFirst();
        }
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "count"));
    }
}
