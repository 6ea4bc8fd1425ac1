package headworks.storm.workload;

import headworks.storm.workload.Nexmark.Kind;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * Emits Nexmark's events of one kind at a steady rate, each task every so many-th, in the order of their times.
 *
 * <p>On the stream `clock` a task says, every two seconds of event time, that none of its later events is earlier.
 */
public final class EventSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final double FREELY = 10_000.0 / Kind.BID.many * Nexmark.PERIOD;
    private static final Map<Kind, Fields> FIELDS = Map.of(
            Kind.PERSON, new Fields("id", "name", "city", "state", "time"),
            Kind.AUCTION, new Fields("id", "seller", "category", "initial-bid", "reserve", "time", "expires"),
            Kind.BID, new Fields("auction", "bidder", "price", "time"));

    private final Kind kind;
    private final double perTask;
    private transient Pace pace;
    private transient Nexmark nexmark;
    private transient SpoutOutputCollector collector;
    private int index;
    private int tasks;
    private long next;
    private long clock = Nexmark.BEGIN + ClockedBolt.TICK;

    EventSpout(Kind kind, double perTask) {
        this.kind = kind;
        this.perTask = perTask;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        pace = new Pace(perTask, conf).shown(context);
        index = context.getThisTaskIndex();
        tasks = context.getComponentTasks(context.getThisComponentId()).size();
        nexmark = new Nexmark(0, perTask > 0 ? perTask * tasks / kind.many * Nexmark.PERIOD : FREELY);
        next = index;
    }

    @Override
    public void nextTuple() {
        if (!pace.take()) {
            return;
        }
        long number = kind.number(next);
        long time = nexmark.time(number);
        for (; clock <= time; clock += ClockedBolt.TICK) {
            collector.emit(ClockedBolt.CLOCK, new Values(index, clock));
        }
        collector.emit(event(number), next);
        next += tasks;
    }

    private Values event(long number) {
        switch (kind) {
            case PERSON:
                return nexmark.person(number);
            case AUCTION:
                return nexmark.auction(number);
            default:
                return nexmark.bid(number);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(FIELDS.get(kind));
        declarer.declareStream(ClockedBolt.CLOCK, new Fields("index", "time"));
    }
}
