package headworks.storm.workload;

import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 2: the prices of the bids for every 123rd auction. */
public final class SelectionBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    private static final int EVERY = 123;

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        if (tuple.getLong(0) % EVERY == 0) {
            collector.emit(new Values(tuple.getLong(0), tuple.getLong(2)));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("auction", "price"));
    }
}
