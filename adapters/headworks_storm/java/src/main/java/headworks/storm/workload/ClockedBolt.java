package headworks.storm.workload;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Tuple;

/** A bolt that is told how far event time is: when each task of its spouts has said that its later events are later. */
abstract class ClockedBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    static final String CLOCK = "clock";

    /** Milliseconds of event time from one word of a spout's task to its next. */
    static final long TICK = 2000;

    private final Map<Integer, Long> clocks = new HashMap<>();
    private transient int sources;

    /** Tasks of this bolt: the next one waits for what each of them says of a window. */
    transient int tasks;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        tasks = context.getComponentTasks(context.getThisComponentId()).size();
        sources = context.getThisSources().keySet().stream().filter(each -> CLOCK.equals(each.get_streamId()))
                .mapToInt(each -> context.getComponentTasks(each.get_componentId()).size()).sum();
    }

    @Override
    public final void execute(Tuple tuple, BasicOutputCollector collector) {
        if (!CLOCK.equals(tuple.getSourceStreamId())) {
            event(tuple, collector);
            return;
        }
        clocks.put(tuple.getSourceTask(), tuple.getLongByField("time"));
        if (clocks.size() == sources) {
            closed(Collections.min(clocks.values()), collector);
        }
    }

    /** Takes an event. */
    abstract void event(Tuple tuple, BasicOutputCollector collector);

    /** Hears that no event before a time comes any more. */
    abstract void closed(long time, BasicOutputCollector collector);
}
