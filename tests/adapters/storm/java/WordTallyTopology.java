import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * WordCount over a text, acked, as fast as it can; the bolts that count write down how many words they had of whom.
 *
 * <p>Arguments: name, folder for what is written down, file of the text, settings of the topology as JSON.
 */
public final class WordTallyTopology {
    private WordTallyTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("lines", new Lines(Files.readAllLines(Path.of(arguments[2]))), 2);
        builder.setBolt("split", new Split(), 2).shuffleGrouping("lines");
        builder.setBolt("count", new Count(arguments[1]), 2).fieldsGrouping("split", new Fields("word"));
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(2);
        conf.setMaxSpoutPending(1000);
        conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 48.0);
        conf.putAll(new ObjectMapper().readValue(arguments[3], Map.class));
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    static final class Lines extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final String[] lines;
        private long sent;
        private transient SpoutOutputCollector collector;

        Lines(List<String> lines) {
            this.lines = lines.toArray(String[]::new);
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void nextTuple() {
            long id = sent++;
            collector.emit(new Values(lines[(int) (id % lines.length)]), id);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("line"));
        }
    }

    static final class Split extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            if (tuple.getSourceTask() >= 0) { // else a tick
                for (String word : tuple.getString(0).toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+")) {
                    collector.emit(new Values(word));
                }
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    static final class Count extends TallyTopology.Tally {
        private static final long serialVersionUID = 1L;

        private transient Map<String, Long> words;

        Count(String folder) {
            super(folder, true);
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
            words = new HashMap<>();
        }

        @Override
        public void execute(Tuple tuple) {
            if (tuple.getSourceTask() >= 0) { // else a tick
                words.merge(tuple.getString(0), 1L, Long::sum);
            }
            super.execute(tuple);
        }
    }
}
