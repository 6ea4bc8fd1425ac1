import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.fasterxml.jackson.databind.ObjectMapper;
import headworks.storm.seats.Movable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.StormSubmitter;
import org.apache.storm.metric.api.CountMetric;
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
 * A bolt that registers metrics of both of Storm's interfaces, one that cannot read its own state, one that cannot be
 * prepared twice, and one that cannot read its state elsewhere, each with one task; what Storm tells of the first is written
 * down as it comes.
 *
 * <p>Arguments: name, folder for what is written down, settings of the topology as JSON.
 */
public final class MetricsTopology {
    private MetricsTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers(), 1);
        builder.setBolt("meter", new Meter(arguments[1]), 1).shuffleGrouping("numbers");
        builder.setBolt("stuck", new Stuck(arguments[1]), 1).shuffleGrouping("numbers");
        builder.setBolt("once", new Once(arguments[1]), 1).shuffleGrouping("numbers");
        builder.setBolt("bound", new Bound(arguments[1]), 1).shuffleGrouping("numbers");
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(0);
        conf.registerSerialization(Collections.emptyMap().getClass()); // which Storm sends with each metric, and has not registered
        conf.registerMetricsConsumer(ToldMetrics.class, arguments[1], 1);
        conf.put(Config.TOPOLOGY_BUILTIN_METRICS_BUCKET_SIZE_SECS, 1);
        conf.put("topology.enable.v2.metrics.tick", true);
        conf.put("topology.v2.metrics.tick.interval.seconds", 1);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 24.0);
        conf.putAll(new ObjectMapper().readValue(arguments[2], Map.class));
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    static void append(Path file, String line) {
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static final class Numbers extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private long next;
        private long last;
        private transient SpoutOutputCollector collector;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void nextTuple() {
            long now = System.nanoTime();
            if (now - last > 10_000_000L) {
                last = now;
                collector.emit(new Values(next++));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    /** A bolt that writes down when it is prepared and cleaned up, and hands over how many tuples it had. */
    abstract static class Noted extends BaseRichBolt implements Movable {
        private static final long serialVersionUID = 1L;

        private final String folder;
        transient Map<String, Long> state;

        Noted(String folder) {
            this.folder = folder;
        }

        void note(String what) {
            append(Path.of(folder, getClass().getSimpleName()), what);
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            state = new HashMap<>(Map.of("tuples", 0L));
            note("prepared");
        }

        @Override
        public void execute(Tuple tuple) {
            if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                state.merge("tuples", 1L, Long::sum);
            }
        }

        @Override
        public void cleanup() {
            note("cleaned up");
        }

        @Override
        public byte[] snapshot() {
            return ByteBuffer.allocate(Long.BYTES).putLong(state.get("tuples")).array();
        }

        @Override
        public void restore(byte[] content) {
            state.put("tuples", ByteBuffer.wrap(content).getLong());
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    static final class Meter extends Noted {
        private static final long serialVersionUID = 1L;

        private transient CountMetric older;
        private transient Counter counter;

        Meter(String folder) {
            super(folder);
        }

        @SuppressWarnings("deprecation") // the older interface, in Storm
        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
            older = context.registerMetric("own-older", new CountMetric(), 2);
            counter = context.registerCounter("own-counter");
            context.registerGauge("own-tuples", () -> state.get("tuples"));
            context.registerMetricSet("own-set", () -> Map.of("one", (Gauge<Integer>) () -> 1));
            context.registerTimer("own-timer");
            context.registerMeter("own-meter");
            context.registerHistogram("own-histogram");
        }

        @Override
        public void execute(Tuple tuple) {
            super.execute(tuple);
            older.incr();
            counter.inc();
        }
    }

    static final class Stuck extends Noted {
        private static final long serialVersionUID = 1L;

        Stuck(String folder) {
            super(folder);
        }

        @Override
        public void restore(byte[] content) {
            throw new IllegalArgumentException("of another version");
        }
    }

    /** It lacks a class in other workers, and writes down each tuple that is not the next one. */
    static final class Bound extends Noted {
        private static final long serialVersionUID = 1L;

        Bound(String folder) {
            super(folder);
        }

        @Override
        public void execute(Tuple tuple) {
            if (tuple.getLong(0) != (long) state.get("tuples")) {
                note("had " + tuple.getLong(0) + " in place of " + state.get("tuples"));
            }
            super.execute(tuple);
            if (state.get("tuples") % 100 == 0) {
                note("100 more");
            }
        }

        @Override
        public byte[] snapshot() {
            return ByteBuffer.allocate(2 * Long.BYTES).put(super.snapshot()).putLong(ProcessHandle.current().pid()).array();
        }

        @Override
        public void restore(byte[] content) {
            if (ByteBuffer.wrap(content).getLong(Long.BYTES) != ProcessHandle.current().pid()) {
                throw new NoClassDefFoundError("example/OnlyThere");
            }
            super.restore(content);
        }
    }

    static final class Once extends Noted {
        private static final long serialVersionUID = 1L;

        private final String lock;

        Once(String folder) {
            super(folder);
            lock = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
            try {
                Files.createFile(Path.of(lock, "lock"));
            } catch (IOException taken) {
                throw new IllegalStateException("the lock is taken", taken);
            }
        }
    }
}
