package headworks.storm.workload;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Nexmark's query 8, monitor new users: who registered and sold in the same ten seconds of event time, each once. */
public final class NewSellersBolt extends ClockedBolt {
    private static final long serialVersionUID = 1L;

    private final Map<Long, Map<Long, String>> people = new HashMap<>();
    private final Map<Long, Set<Long>> sellers = new HashMap<>();

    @Override
    void event(Tuple tuple, BasicOutputCollector collector) {
        long start = tuple.getLongByField("time") / Nexmark.WINDOW * Nexmark.WINDOW;
        Map<Long, String> registered = people.computeIfAbsent(start, each -> new HashMap<>());
        Set<Long> selling = sellers.computeIfAbsent(start, each -> new HashSet<>());
        long id = tuple.contains("name") ? tuple.getLong(0) : tuple.getLongByField("seller");
        boolean before = registered.containsKey(id) && selling.contains(id);
        if (tuple.contains("name")) {
            registered.put(id, tuple.getString(1));
        } else {
            selling.add(id);
        }
        if (!before && registered.containsKey(id) && selling.contains(id)) {
            collector.emit(new Values(id, registered.get(id), start));
        }
    }

    @Override
    void closed(long time, BasicOutputCollector collector) {
        List.of(people, sellers).forEach(each -> each.keySet().removeIf(start -> start + Nexmark.WINDOW <= time));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("id", "name", "start"));
    }
}
