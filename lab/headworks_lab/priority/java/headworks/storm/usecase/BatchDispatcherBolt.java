package headworks.storm.usecase;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Gathers lines, writes them to disk together, and says when a batch is there whole. */
public final class BatchDispatcherBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    /** Lines that are written together. */
    private static final int LENGTH = 4;
    /** Lines that wait are written after a second at most: a topology that pauses gets empty. */
    private static final int TICK_SECONDS = 1;

    private final Settings settings;
    private final List<Tuple> gathered = new ArrayList<>();
    private transient OutputCollector collector;
    private transient Ledger ledger;
    private transient Reports reports;

    BatchDispatcherBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        ledger = new Ledger(settings);
        reports = new Reports(settings);
    }

    @Override
    public void execute(Tuple tuple) {
        if (Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
            write();
        } else {
            gathered.add(tuple);
        }
        if (gathered.size() >= LENGTH) {
            write();
        }
    }

    private void write() {
        gathered.forEach(this::write);
        gathered.clear();
    }

    private void write(Tuple tuple) {
        String source = tuple.getStringByField("source");
        String batch = tuple.getStringByField("batch");
        int number = tuple.getIntegerByField("number");
        if (!ledger.knows(source, batch, number)) {
            ledger.add(source, batch, number, false, tuple.getStringByField("line"));
        }
        int count = ledger.count(source, batch);
        if (count == settings.length) {
            reports.send(source, batch, count, false);
        }
        collector.ack(tuple);
    }

    @Override
    public void cleanup() {
        reports.close();
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, TICK_SECONDS);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // It is the last.
    }
}
