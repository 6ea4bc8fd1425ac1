package headworks.storm.workload;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.IBasicBolt;
import org.apache.storm.topology.ComponentConfigurationDeclarer;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** Builds a topology from its description: plain data that Headworks's `headworks_storm.workload.describe` writes. */
final class Builder {
    private static final Map<String, String> STATES = Map.ofEntries(Map.entry("split", "stateless"),
            Map.entry("count", "fields:counts"), Map.entry("rolling-count", "fields:window,now"),
            Map.entry("unique-visitors", "fields:visitors"), Map.entry("euros", "stateless"),
            Map.entry("selection", "stateless"), Map.entry("score", "stateless"),
            Map.entry("hot-items", "fields:counts,clocks,next"),
            Map.entry("hottest", "fields:told,most,hottest"), Map.entry("near-sellers", "fields:people,sold"),
            Map.entry("winning-bids", "fields:auctions,early,won,clocks,next"),
            Map.entry("average", "fields:told,sums"), Map.entry("high-bids", "fields:prices,bids,clocks,next"),
            Map.entry("highest-bid", "fields:told,most,hottest"),
            Map.entry("new-sellers", "fields:people,sellers,clocks"), Map.entry("sessions", "fields:sessions,clocks"));

    private final TopologyBuilder builder = new TopologyBuilder();
    private final String text;
    private final Map<String, Number> lexicon;

    private Builder(String text, Map<String, Number> lexicon) {
        this.text = text;
        this.lexicon = lexicon;
    }

    @SuppressWarnings("unchecked")
    static StormTopology build(Map<String, Object> described) {
        Map<String, Number> lexicon = (Map<String, Number>) described.getOrDefault("lexicon", Map.of());
        Builder builder = new Builder((String) described.getOrDefault("text", ""), lexicon);
        for (Map<String, Object> each : (List<Map<String, Object>>) described.get("components")) {
            builder.add(each);
        }
        return builder.builder.createTopology();
    }

    /** What each bolt keeps from one tuple to the next, by id: the fields that move with a task. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> states(Map<String, Object> described) {
        Map<String, Object> states = new LinkedHashMap<>();
        for (Map<String, Object> each : (List<Map<String, Object>>) described.get("components")) {
            if (!"spout".equals(each.get("kind"))) {
                states.put((String) each.get("id"), STATES.getOrDefault((String) each.get("role"), "fields:credit"));
            }
        }
        return states;
    }

    @SuppressWarnings("unchecked")
    private void add(Map<String, Object> described) {
        String id = (String) described.get("id");
        int tasks = ((Number) described.get("tasks")).intValue();
        List<Map<String, Object>> inputs = (List<Map<String, Object>>) described.get("inputs");
        ComponentConfigurationDeclarer<?> declarer;
        if ("spout".equals(described.get("kind"))) {
            declarer = builder.setSpout(id, spout(described), tasks);
        } else {
            BoltDeclarer bolt = bolt(id, described, tasks);
            inputs.forEach(input -> group(bolt, input));
            declarer = bolt;
        }
        declarer.setCPULoad(number(described, "cpu"));
        declarer.setMemoryLoad(number(described, "heap"), number(described, "offheap"));
    }

    @SuppressWarnings("unchecked")
    private IRichSpout spout(Map<String, Object> described) {
        double rate = number(described, "rate");
        switch ((String) described.get("role")) {
            case "text":
                return new TextSpout(text, rate);
            case "page-views":
                return new PageViewSpout(rate);
            case "persons":
                return new EventSpout(Nexmark.Kind.PERSON, rate);
            case "auctions":
                return new EventSpout(Nexmark.Kind.AUCTION, rate);
            case "bids":
                return new EventSpout(Nexmark.Kind.BID, rate);
            default:
                List<Output> outputs = Output.listOf((List<Map<String, Object>>) described.get("outputs"));
                return new RateSpout(rate, number(described, "micros"), outputs);
        }
    }

    private BoltDeclarer bolt(String id, Map<String, Object> described, int tasks) {
        String role = (String) described.get("role");
        IBasicBolt basic = basic(role);
        return basic != null ? builder.setBolt(id, basic, tasks) : builder.setBolt(id, cost(described), tasks);
    }

    private IBasicBolt basic(String role) {
        switch (role) {
            case "score":
                return new ScoreBolt(lexicon);
            case "split":
                return new SplitBolt();
            case "count":
                return new CountBolt();
            case "rolling-count":
                return new RollingCountBolt();
            case "unique-visitors":
                return new UniqueVisitorBolt();
            case "euros":
                return new EuroBolt();
            case "selection":
                return new SelectionBolt();
            case "hot-items":
                return new HotItemsBolt();
            case "hottest":
                return new HottestBolt();
            case "near-sellers":
                return new NearSellersBolt();
            case "winning-bids":
                return new WinningBidsBolt();
            case "average":
                return new AverageBolt();
            case "high-bids":
                return new HighBidsBolt();
            case "highest-bid":
                return new HighestBidBolt();
            case "new-sellers":
                return new NewSellersBolt();
            case "sessions":
                return new SessionsBolt();
            default:
                return null;
        }
    }

    @SuppressWarnings("unchecked")
    private static IRichBolt cost(Map<String, Object> described) {
        List<Output> outputs = Output.listOf((List<Map<String, Object>>) described.get("outputs"));
        int held = (int) number(described, "held");
        return new CostBolt(number(described, "micros"), number(described, "selectivity"), held, outputs);
    }

    private static void group(BoltDeclarer bolt, Map<String, Object> input) {
        String source = (String) input.get("source");
        String stream = (String) input.get("stream");
        switch ((String) input.get("grouping")) {
            case "fields":
                bolt.fieldsGrouping(source, stream, new Fields((String) input.get("field")));
                break;
            case "partial-key":
                bolt.partialKeyGrouping(source, stream, new Fields((String) input.get("field")));
                break;
            case "all":
                bolt.allGrouping(source, stream);
                break;
            case "global":
                bolt.globalGrouping(source, stream);
                break;
            case "local-or-shuffle":
                bolt.localOrShuffleGrouping(source, stream);
                break;
            default:
                bolt.shuffleGrouping(source, stream);
        }
    }

    private static double number(Map<String, Object> described, String name) {
        return ((Number) described.get(name)).doubleValue();
    }
}
