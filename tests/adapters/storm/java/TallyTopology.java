import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.Credentials;
import org.apache.storm.generated.SubmitOptions;
import org.apache.storm.generated.TopologyInitialStatus;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Two spouts of a known number of tuples, three bolts, one sink: bolts write down how many tuples they had of whom.
 *
 * <p>Arguments: name, folder for what is written down, tuples of each spout (0: no end), tuples per second of each (0:
 * as many as possible), whether tuples are acked, settings of the topology as JSON.
 */
public final class TallyTopology {
    private TallyTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        boolean acked = Boolean.parseBoolean(arguments[4]);
        Spout spout = new Spout(Long.parseLong(arguments[2]), Double.parseDouble(arguments[3]), acked);
        builder.setSpout("lines", spout, 2);
        builder.setBolt("count", new Tally(arguments[1], true), 3).fieldsGrouping("lines", new Fields("key"));
        builder.setBolt("sink", new Tally(arguments[1], false), 1).globalGrouping("count");
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(acked ? 1 : 0);
        conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 48.0);
        conf.putAll(new ObjectMapper().readValue(arguments[5], Map.class));
        SubmitOptions options = new SubmitOptions(TopologyInitialStatus.ACTIVE);
        options.set_creds(new Credentials(Map.of("test", "as on a secured cluster")));
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology(), options);
    }

    static final class Spout extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final long limit;
        private final double perNano;
        private final boolean acked;
        private long sent;
        private long begin;
        private transient SpoutOutputCollector collector;

        Spout(long limit, double perSecond, boolean acked) {
            this.limit = limit;
            this.perNano = perSecond / 1e9;
            this.acked = acked;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            begin = System.nanoTime();
        }

        @Override
        public void nextTuple() {
            boolean due = perNano == 0 || sent < (System.nanoTime() - begin) * perNano;
            if (due && (limit == 0 || sent < limit)) {
                Values values = new Values(sent % 101, new byte[100]);
                collector.emit(values, acked ? sent : null);
                sent++;
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "payload"));
        }
    }

    static class Tally extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final boolean emits;
        private transient Map<Integer, Long> counts;
        private transient Path file;
        private transient OutputCollector collector;

        Tally(String folder, boolean emits) {
            this.folder = folder;
            this.emits = emits;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            counts = new HashMap<>();
            file = Path.of(folder, Integer.toString(context.getThisTaskId()));
        }

        @Override
        public void execute(Tuple tuple) {
            if (Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                write();
                return;
            }
            counts.merge(tuple.getSourceTask(), 1L, Long::sum);
            if (emits) {
                collector.emit(tuple, new Values(tuple.getValue(0)));
            }
            collector.ack(tuple);
        }

        private void write() {
            StringBuilder text = new StringBuilder();
            new TreeMap<>(counts).forEach((source, count) -> text.append(source + " " + count + "\n"));
            try {
                Path draft = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), text);
                Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            if (emits) {
                declarer.declare(new Fields("key"));
            }
        }
    }
}
