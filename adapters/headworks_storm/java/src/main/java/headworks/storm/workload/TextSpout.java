package headworks.storm.workload;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Emits the lines of a text, over and over, at a steady rate. */
public final class TextSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;

    private final String[] lines;
    private final double perTask;
    private transient Pace pace;
    private transient SpoutOutputCollector collector;
    private long sent;

    TextSpout(String text, double perTask) {
        this.lines = text.lines().filter(line -> !line.isBlank()).toArray(String[]::new);
        this.perTask = perTask;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        pace = new Pace(perTask, conf).shown(context);
    }

    @Override
    public void nextTuple() {
        if (pace.take()) {
            long id = sent++;
            collector.emit(new Values(lines[(int) (id % lines.length)]), id);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("line"));
    }
}
