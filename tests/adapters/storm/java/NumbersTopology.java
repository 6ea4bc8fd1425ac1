import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.ObjectReader;

/**
 * Two spouts that number the tuples of each key, a bolt that passes them on, one that numbers them anew from what it
 * counted itself, both of which can move, and a sink that writes down how many came, and of them how many twice and how many behind a later one of their spout and key.
 *
 * <p>Arguments: name, folder for what is written down, tuples of each spout, tuples per second of each, whether they are
 * acked, settings of the topology as JSON. Of those, {@code numbers.shuffle} has the first bolt take its tuples as they come,
 * {@code numbers.pass} is the number of its tasks, {@code numbers.ballast} gives so many bytes more to the state of each task that counts, and {@code numbers.log} has the sinks write down
 * when each tuple came, and of which task.
 */
public final class NumbersTopology {
    private static final int KEYS = 16;

    private NumbersTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        boolean acked = Boolean.parseBoolean(arguments[4]);
        TopologyBuilder builder = new TopologyBuilder();
        Spout spout = new Spout(arguments[1], Long.parseLong(arguments[2]), Double.parseDouble(arguments[3]), acked);
        builder.setSpout("numbers", spout, 2);
        Map<String, Object> asked = new ObjectMapper().readValue(arguments[5], Map.class);
        BoltDeclarer pass = builder.setBolt("pass", new Pass(), ObjectReader.getInt(asked.get("numbers.pass"), 4));
        if (Boolean.TRUE.equals(asked.get("numbers.shuffle"))) {
            pass.shuffleGrouping("numbers");
        } else {
            pass.fieldsGrouping("numbers", new Fields("key"));
        }
        builder.setBolt("number", new Number(), 3).fieldsGrouping("pass", new Fields("key"));
        builder.setBolt("sink", new Sink(arguments[1]), 2).fieldsGrouping("number", new Fields("key"));
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(acked ? 1 : 0);
        conf.setMessageTimeoutSecs(600);
        conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 24.0);
        conf.putAll(asked);
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    private static void write(Path file, String text) {
        try {
            Path draft = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), text);
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static final class Spout extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final long limit;
        private final double perNano;
        private final boolean acking;
        private final long[] numbers = new long[KEYS];
        private long sent;
        private long acked;
        private long failed;
        private long begin;
        private long told;
        private transient Path file;
        private transient SpoutOutputCollector collector;

        Spout(String folder, long limit, double perSecond, boolean acking) {
            this.folder = folder;
            this.limit = limit;
            this.perNano = perSecond / 1e9;
            this.acking = acking;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            file = Path.of(folder, "spout-" + context.getThisTaskId());
            begin = System.nanoTime();
        }

        @Override
        public void nextTuple() {
            long now = System.nanoTime();
            if (sent < limit && sent < (now - begin) * perNano) {
                int key = (int) (sent % KEYS);
                collector.emit(new Values(key, numbers[key]++), acking ? sent : null);
                sent++;
            }
            if (now - told > 500_000_000L) {
                told = now;
                tell();
            }
        }

        /** Nobody asks it for tuples any more. */
        @Override
        public void deactivate() {
            tell();
        }

        @Override
        public void ack(Object message) {
            acked++;
            tellLast();
        }

        @Override
        public void fail(Object message) {
            failed++;
            tellLast();
        }

        private void tellLast() {
            if (acked + failed == sent) {
                tell();
            }
        }

        private void tell() {
            write(file, sent + " " + acked + " " + failed + "\n");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "number"));
        }
    }

    /** Passes on whose number it is. */
    static final class Pass extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                collector.emit(new Values(tuple.getValue(0), tuple.getValue(1), tuple.getSourceTask()));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "number", "of"));
        }
    }

    /** Numbers the tuples of each key and spout: with the counts of another life some number would come twice. */
    static final class Number extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        private final Map<String, Long> counts = new HashMap<>();
        private byte[] ballast;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            ballast = new byte[ObjectReader.getInt(conf.get("numbers.ballast"), 0)];
        }

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                long count = counts.merge(tuple.getValue(2) + "/" + tuple.getValue(0), 1L, Long::sum);
                collector.emit(new Values(tuple.getValue(0), count - 1, tuple.getValue(2)));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "number", "of"));
        }
    }

    static final class Sink extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private long tuples;
        private long twice;
        private long behind;
        private final Map<String, BitSet> seen = new HashMap<>();
        private transient Path file;
        private transient StringBuilder log;
        private transient OutputCollector collector;

        Sink(String folder) {
            this.folder = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            file = Path.of(folder, "sink-" + context.getThisTaskId());
            log = Boolean.TRUE.equals(conf.get("numbers.log")) ? new StringBuilder() : null;
        }

        @Override
        public void execute(Tuple tuple) {
            if (Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                write(file, tuples + " " + twice + " " + behind + "\n");
                tell();
            } else {
                if (log != null) {
                    log.append(System.currentTimeMillis()).append(' ').append(tuple.getSourceTask()).append('\n');
                }
                take(seen.computeIfAbsent(tuple.getValue(2) + "/" + tuple.getValue(0), any -> new BitSet()),
                    tuple.getLong(1).intValue());
            }
            collector.ack(tuple);
        }

        private void tell() {
            if (log != null) {
                try {
                    Files.writeString(file.resolveSibling(file.getFileName() + ".log"), log, StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
                } catch (IOException error) {
                    throw new IllegalStateException(error);
                }
                log.setLength(0);
            }
        }

        private void take(BitSet numbers, int number) {
            tuples++;
            twice += numbers.get(number) ? 1 : 0;
            behind += numbers.length() > number + 1 ? 1 : 0;
            numbers.set(number);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
