package headworks.storm.workload;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Scores lines by a lexicon: the sum of the values of their words, and the sentiment that its sign is. */
public final class ScoreBolt extends BaseBasicBolt {
    private static final long serialVersionUID = 1L;

    private final HashMap<String, Integer> values = new HashMap<>();

    /** @param lexicon value of a word, above 0 for what is liked and below for what is not */
    ScoreBolt(Map<String, ? extends Number> lexicon) {
        lexicon.forEach((word, value) -> values.put(word, value.intValue()));
    }

    @Override
    public void execute(Tuple tuple, BasicOutputCollector collector) {
        String line = tuple.getString(0);
        int score = Words.of(line).stream().mapToInt(word -> values.getOrDefault(word, 0)).sum();
        collector.emit(new Values(score > 0 ? "positive" : score < 0 ? "negative" : "neutral", score, line));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "score", "line"));
    }
}
