import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Two spouts that write down each tuple before they emit it, once; bolts that tag it; and sinks that hold tuples for a
 * while in batches, write a batch down and only then acknowledge it. A tuple that a sink holds is in no queue.
 *
 * <p>Arguments: name, folder for what is written down, tuples per second of each spout, settings of the topology as JSON.
 */
public final class HeldTopology {
    private HeldTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new Source(arguments[1], Double.parseDouble(arguments[2])), 2);
        builder.setBolt("tag", new Tag(), 2).shuffleGrouping("source");
        builder.setBolt("write", new Write(arguments[1]), 2).shuffleGrouping("tag");
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(1);
        conf.setMessageTimeoutSecs(900);
        conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 3);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 24.0);
        conf.putAll(new ObjectMapper().readValue(arguments[3], Map.class));
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    private static Path file(String folder, String kind, TopologyContext context) {
        return Path.of(folder, kind + "-" + context.getThisTaskId() + "-" + System.nanoTime());
    }

    private static void append(Path file, String lines) {
        try {
            Files.write(file, lines.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static final class Source extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final double perNano;
        private long sent;
        private long begin;
        private transient Path file;
        private transient SpoutOutputCollector collector;

        Source(String folder, double perSecond) {
            this.folder = folder;
            this.perNano = perSecond / 1e9;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            file = file(folder, "sent", context);
        }

        @Override
        public void activate() {
            begin = System.nanoTime() - (long) (sent / perNano);
        }

        @Override
        public void nextTuple() {
            if (sent < (System.nanoTime() - begin) * perNano) {
                String id = file.getFileName() + "/" + sent++;
                append(file, id + "\n");
                collector.emit(new Values(id), id);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id"));
        }
    }

    static final class Tag extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                collector.emit(new Values(tuple.getValue(0)));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id"));
        }
    }

    static final class Write extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final List<Tuple> held = new ArrayList<>();
        private transient Path file;
        private transient OutputCollector collector;

        Write(String folder) {
            this.folder = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            file = file(folder, "written", context);
        }

        @Override
        public void execute(Tuple tuple) {
            if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                held.add(tuple);
                return;
            }
            StringBuilder lines = new StringBuilder();
            held.forEach(each -> lines.append(each.getString(0)).append('\n'));
            append(file, lines.toString());
            held.forEach(collector::ack);
            held.clear();
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
