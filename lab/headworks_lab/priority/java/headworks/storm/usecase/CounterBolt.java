package headworks.storm.usecase;

import headworks.storm.Trigger;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Works on each tuple; its first task tells the priority manager while many tuples come to the topic. */
public final class CounterBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final Settings settings;
    private transient OutputCollector collector;
    private transient Core core;
    private transient Ledger ledger;
    private transient Trigger trigger;
    private transient ArrivalRate rate;

    CounterBolt(Settings settings) {
        this.settings = settings;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        core = new Core(settings);
        ledger = new Ledger(settings);
        if (context.getThisTaskIndex() == 0) {
            trigger = new Trigger(URI.create(settings.manager), Path.of(settings.token), settings.name + "-count");
            rate = new ArrivalRate(settings, isAbove -> trigger.send(settings.name, isAbove,
                (isAbove ? "more than " : "no more than ") + settings.threshold + " tuples a second come"));
        }
    }

    @Override
    public void execute(Tuple tuple) {
        String source = tuple.getStringByField("source");
        String batch = tuple.getStringByField("batch");
        int number = tuple.getIntegerByField("number");
        if (!ledger.knows(source, batch, number)) {
            core.work();
            ledger.add(source, batch, number, false, "");
        }
        // Also where the tuple is known: its worker may have ended before it was spoken of.
        collector.emit(tuple, new Values(source, batch, number));
        collector.ack(tuple);
    }

    @Override
    public void cleanup() {
        if (rate != null) {
            rate.close();
            trigger.close();
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("source", "batch", "number"));
    }
}
