package headworks.storm.workload;

import java.util.List;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;

/** Emits tuples at a steady rate, with keys 0 to 999 in turn; they are acked where the topology has ackers. */
public final class RateSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final int KEYS = 1000;

    private final double perTask;
    private final double microsPerTuple;
    private final List<Output> outputs;
    private transient Pace pace;
    private transient Burn burn;
    private transient Outputs sink;
    private transient SpoutOutputCollector collector;
    private long sent;

    RateSpout(double perTask, double microsPerTuple, List<Output> outputs) {
        this.perTask = perTask;
        this.microsPerTuple = microsPerTuple;
        this.outputs = outputs;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        pace = new Pace(perTask, conf).shown(context);
        burn = new Burn(microsPerTuple);
        sink = new Outputs(outputs);
    }

    @Override
    public void nextTuple() {
        if (!pace.take()) {
            return;
        }
        burn.tuple();
        long id = sent++;
        sink.emit(id % KEYS, (stream, values) -> collector.emit(stream, values, id));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        Outputs.declare(outputs, declarer);
    }
}
