package headworks.storm.usecase;

import headworks.storm.Trigger;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Tuple;

/** Writes what was decided of batches to a topic, and tells the priority manager when raw events begin and end. */
public final class EventDispatcherBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final Settings settings;
    private transient Reports reports;
    private transient Trigger trigger;
    private transient Boolean told;

    EventDispatcherBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        reports = new Reports(settings);
        trigger = new Trigger(URI.create(settings.manager), Path.of(settings.token), settings.name + "-dispatch");
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        String source = tuple.getStringByField("source");
        String batch = tuple.getStringByField("batch");
        boolean isEvent = tuple.getBooleanByField("event");
        reports.send(source, batch, tuple.getIntegerByField("count"), isEvent);
        if (told == null || told != isEvent) {
            told = isEvent;
            trigger.send(settings.name, isEvent, "batch " + batch + " of " + source);
        }
    }

    @Override
    public void cleanup() {
        trigger.close();
        reports.close();
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // It is the last.
    }
}
