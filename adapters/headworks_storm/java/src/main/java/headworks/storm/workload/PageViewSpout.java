package headworks.storm.workload;

import java.util.Map;
import java.util.Random;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Emits views of pages by visitors, drawn from a seed, at a steady rate. Few pages have most of the views. */
public final class PageViewSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final int VISITORS = 10_000;
    private static final int PAGES = 100;

    private final double perTask;
    private transient Pace pace;
    private transient Random random;
    private transient SpoutOutputCollector collector;
    private long sent;

    PageViewSpout(double perTask) {
        this.perTask = perTask;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        pace = new Pace(perTask, conf).shown(context);
        random = new Random(context.getThisTaskIndex());
    }

    @Override
    public void nextTuple() {
        if (pace.take()) {
            String page = "/page/" + (int) (PAGES * random.nextDouble() * random.nextDouble());
            collector.emit(new Values(page, random.nextInt(VISITORS)), sent++);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("page", "visitor"));
    }
}
