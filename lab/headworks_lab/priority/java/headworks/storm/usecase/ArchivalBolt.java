package headworks.storm.usecase;

import java.time.Instant;
import java.util.Map;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Gives a line the time and a tag of the storage. */
public final class ArchivalBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    private static final String TAG = "disk-1";

    private final Settings settings;
    private transient Core core;

    ArchivalBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        core = new Core(settings);
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        core.work();
        String line = tuple.getString(0);
        Reading reading = Reading.parse(line);
        String tagged = line + "," + Instant.now() + "," + TAG;
        collector.emit(new Values(reading.source, reading.batch, reading.number, tagged));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("source", "batch", "number", "line"));
    }
}
