package headworks.storm.usecase;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Says of each batch of a gateway whether 80 % of its readings are above the threshold: a raw event. */
public final class EventDetectorBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final double THRESHOLD = 50;
    private static final double SHARE = 0.8;

    private final Settings settings;
    private transient OutputCollector collector;
    private transient Core core;
    private transient Ledger ledger;

    EventDetectorBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        core = new Core(settings);
        ledger = new Ledger(settings);
    }

    @Override
    public void execute(Tuple tuple) {
        String source = tuple.getStringByField("source");
        String batch = tuple.getStringByField("batch");
        int number = tuple.getIntegerByField("number");
        if (!ledger.knows(source, batch, number)) {
            core.work();
            ledger.add(source, batch, number, tuple.getDoubleByField("value") > THRESHOLD, "");
        }
        // Also where the tuple is known: its worker may have ended before the batch was spoken of.
        int count = ledger.count(source, batch);
        if (count == settings.length) {
            boolean isEvent = ledger.marked(source, batch) >= SHARE * count;
            collector.emit(tuple, new Values(source, batch, count, isEvent));
        }
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("source", "batch", "count", "event"));
    }
}
