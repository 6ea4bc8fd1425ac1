package headworks.storm.workload;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Nexmark's query 3, local item suggestion: who sells in Oregon, Idaho or California, and what, of one category.
 *
 * <p>It keeps all of these people and auctions, for ever: whoever registered may sell at any time.
 */
public final class NearSellersBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;
    private static final long CATEGORY = 10;
    private static final Set<String> NEAR = Set.of("OR", "ID", "CA");

    private final Map<Long, List<Object>> people = new HashMap<>();
    private final Map<Long, List<Long>> sold = new HashMap<>();

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        if (tuple.contains("name")) {
            if (NEAR.contains(tuple.getStringByField("state"))) {
                long id = tuple.getLong(0);
                people.put(id, new ArrayList<>(tuple.getValues().subList(1, 4)));
                sold.getOrDefault(id, List.of()).forEach(auction -> tell(id, auction, collector));
            }
        } else if (tuple.getLongByField("category") == CATEGORY) {
            long seller = tuple.getLongByField("seller");
            sold.computeIfAbsent(seller, each -> new ArrayList<>()).add(tuple.getLong(0));
            tell(seller, tuple.getLong(0), collector);
        }
    }

    private void tell(long seller, long auction, BasicOutputCollector collector) {
        List<Object> person = people.get(seller);
        if (person != null) {
            collector.emit(new Values(person.get(0), person.get(1), person.get(2), auction));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("name", "city", "state", "auction"));
    }
}
