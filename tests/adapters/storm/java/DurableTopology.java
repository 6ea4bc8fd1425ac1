import com.fasterxml.jackson.databind.ObjectMapper;
import headworks.storm.QuietTicks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
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
 * Two spouts that write down each number before they emit it and when it is acked, and in their next life send again what was
 * not; two layers of bolts that can move; and sinks that write a number down before they acknowledge it.
 *
 * <p>Arguments: name, folder for what is written down, tuples per second of each spout, settings of the topology as JSON. The
 * spouts send nothing new once the folder has a file {@code stop}. With the setting {@code durable.held} they send each number
 * once, whatever becomes of it, and sinks hold tuples in batches from tick to tick, for {@code durable.held.seconds}: one that a
 * sink holds is in no queue. The first sink tells how many it holds, the second counts quiet ticks.
 */
public final class DurableTopology {
    private DurableTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> asked = new ObjectMapper().readValue(arguments[3], Map.class);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new Source(arguments[1], Double.parseDouble(arguments[2])), 2);
        builder.setBolt("pass", new Pass(), 2).shuffleGrouping("source");
        builder.setBolt("sum", new Sum(), 2).fieldsGrouping("pass", new Fields("key"));
        builder.setBolt("write", new Write(arguments[1]), 2).shuffleGrouping("sum")
                .addConfiguration(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, asked.getOrDefault("durable.held.seconds", 3));
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(2);
        conf.setMessageTimeoutSecs(20);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 24.0);
        conf.putAll(asked);
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    private static void append(Path file, List<Long> numbers) {
        String lines = numbers.stream().map(each -> each + "\n").collect(Collectors.joining());
        try {
            Files.writeString(file, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static boolean held(Map<String, Object> conf) {
        return Boolean.TRUE.equals(conf.get("durable.held"));
    }

    static final class Source extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final double perNano;
        private long next;
        private long begin;
        private boolean once;
        private transient TreeSet<Long> again;
        private transient Path sent;
        private transient Path acked;
        private transient SpoutOutputCollector collector;

        Source(String folder, double perSecond) {
            this.folder = folder;
            this.perNano = perSecond / 1e9;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            sent = Path.of(folder, "sent-" + context.getThisTaskId());
            acked = Path.of(folder, "acked-" + context.getThisTaskId());
            again = new TreeSet<>(numbers(sent));
            next = again.isEmpty() ? context.getThisTaskIndex() : again.last() + 2;
            again.removeAll(numbers(acked));
            once = held(conf);
            if (once) {
                again.clear();
            }
            activate();
        }

        /** What was not sent while nobody asked is not due. */
        @Override
        public void activate() {
            begin = System.nanoTime() - (long) (next / 2 / perNano);
        }

        private static List<Long> numbers(Path file) {
            try {
                return Files.exists(file) ? Files.readAllLines(file).stream().map(Long::valueOf).collect(Collectors.toList()) : List.of();
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public void nextTuple() {
            Long number = again.pollFirst();
            if (number == null && next / 2 < (System.nanoTime() - begin) * perNano && !Files.exists(sent.resolveSibling("stop"))) {
                number = next;
                next += 2;
                append(sent, List.of(number));
            }
            if (number != null) {
                collector.emit(new Values(number % 16, number), number);
            }
        }

        @Override
        public void ack(Object message) {
            append(acked, List.of((Long) message));
        }

        @Override
        public void fail(Object message) {
            if (!once) {
                again.add((Long) message);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "number"));
        }
    }

    static final class Pass extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            collector.emit(tuple.getValues());
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key", "number"));
        }
    }

    static final class Sum extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        private final Map<Object, Long> sums = new HashMap<>();

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            collector.emit(new Values(tuple.getValue(1), sums.merge(tuple.getValue(0), 1L, Long::sum)));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number", "sum"));
        }
    }

    static final class Write extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final List<Tuple> batch = new ArrayList<>();
        private boolean holds;
        private transient Path file;
        private transient QuietTicks ticks;
        private transient OutputCollector collector;

        Write(String folder) {
            this.folder = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            file = Path.of(folder, "written-" + context.getThisTaskId());
            holds = held(conf);
            if (holds && context.getThisTaskIndex() > 0) {
                ticks = new QuietTicks(conf, context, 1);
            } else {
                context.registerGauge("headworks-held", batch::size);
            }
        }

        @Override
        public void execute(Tuple tuple) {
            boolean tick = ticks == null ? Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId()) : ticks.isTick(tuple);
            if (tick) {
                collector.ack(tuple);
            } else {
                batch.add(tuple);
            }
            if (tick || !holds) {
                append(file, batch.stream().map(each -> each.getLong(0)).collect(Collectors.toList()));
                batch.forEach(collector::ack);
                batch.clear();
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
