package headgate.storm.workload;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * Emits Nexmark's bids at a steady rate, each task every so many-th event, in the order of their times.
 *
 * <p>On the stream `clock` a task says, every two seconds of event time, that none of its later bids is earlier.
 */
public final class BidSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final double EVENTS_OF_A_BID = (double) Nexmark.PERIOD / (Nexmark.PERIOD - Nexmark.FIRST_BID);
    private static final double FREELY = 10_000;

    private final double perTask;
    private transient Pace pace;
    private transient Nexmark nexmark;
    private transient SpoutOutputCollector collector;
    private int index;
    private int tasks;
    private long next;
    private long clock = Nexmark.BEGIN + HotItemsBolt.SLIDE;

    BidSpout(double perTask) {
        this.perTask = perTask;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        pace = new Pace(perTask).shown(context);
        index = context.getThisTaskIndex();
        tasks = context.getComponentTasks(context.getThisComponentId()).size();
        nexmark = new Nexmark(0, (perTask > 0 ? perTask * tasks : FREELY) * EVENTS_OF_A_BID);
        next = index;
    }

    @Override
    public void nextTuple() {
        if (!pace.take()) {
            return;
        }
        while (!Nexmark.isBid(next)) {
            next += tasks;
        }
        long time = nexmark.time(next);
        for (; clock <= time; clock += HotItemsBolt.SLIDE) {
            collector.emit("clock", new Values(index, tasks, clock));
        }
        collector.emit(new Values(nexmark.auction(next), nexmark.bidder(next), nexmark.price(next), time), next);
        next += tasks;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("auction", "bidder", "price", "time"));
        declarer.declareStream("clock", new Fields("index", "tasks", "time"));
    }
}
