package headworks.storm.workload;

import java.util.List;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Uses processor time for each tuple, holds memory, and emits `selectivity` tuples for each that it receives. */
public final class CostBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final double microsPerTuple;
    private final double selectivity;
    private final int megabytes;
    private final List<Output> outputs;
    private transient Burn burn;
    private transient Outputs sink;
    private transient OutputCollector collector;
    private transient byte[][] held;
    private double credit;

    CostBolt(double microsPerTuple, double selectivity, int megabytes, List<Output> outputs) {
        this.microsPerTuple = microsPerTuple;
        this.selectivity = selectivity;
        this.megabytes = megabytes;
        this.outputs = outputs;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        burn = new Burn(microsPerTuple);
        sink = new Outputs(outputs);
        held = new byte[megabytes][1 << 20];
    }

    @Override
    public void execute(Tuple tuple) {
        burn.tuple();
        long key = tuple.getValue(0) instanceof Long ? tuple.getLong(0) : tuple.getValue(0).hashCode();
        for (credit += selectivity; credit >= 1; credit -= 1) {
            sink.emit(key, (stream, values) -> collector.emit(stream, tuple, values));
        }
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outputs.declare(outputs, declarer);
    }
}
