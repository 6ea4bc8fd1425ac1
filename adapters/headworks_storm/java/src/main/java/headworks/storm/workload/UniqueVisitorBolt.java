package headworks.storm.workload;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Counts the different visitors of each page, and emits a page's count when it grows. */
public final class UniqueVisitorBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final Map<String, BitSet> visitors = new HashMap<>();

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        BitSet seen = visitors.computeIfAbsent(tuple.getString(0), page -> new BitSet());
        int visitor = tuple.getInteger(1);
        if (!seen.get(visitor)) {
            seen.set(visitor);
            collector.emit(new Values(tuple.getString(0), (long) seen.cardinality()));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("page", "visitors"));
    }
}
