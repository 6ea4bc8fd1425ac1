package headworks.storm.usecase;

import java.util.Map;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Tuple;

/** Writes the result of each tuple to a topic. */
public final class ResultDispatcherBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final Settings settings;
    private transient Reports reports;

    ResultDispatcherBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        reports = new Reports(settings);
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        String id = tuple.getStringByField("batch") + "#" + tuple.getIntegerByField("number");
        reports.send(tuple.getStringByField("source"), id, 1, false);
    }

    @Override
    public void cleanup() {
        reports.close();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // It is the last.
    }
}
