package headworks.storm.workload;

import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 1: the price of each bid in cents of a euro. */
public final class EuroBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    private static final double EURO = 0.908;

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        collector.emit(new Values(tuple.getLong(0), tuple.getLong(1), tuple.getLong(2) * EURO, tuple.getLong(3)));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("auction", "bidder", "price", "time"));
    }
}
