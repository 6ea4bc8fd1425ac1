import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Tuple;

/**
 * Bolts of one task each whose states are large, or become so as they are read, and one that fills the worker in which they
 * do not live.
 *
 * <p>Arguments: name, folder for what is written down, settings of the topology as JSON: of them {@code memory.state} and
 * {@code memory.ballast} are MB.
 */
public final class MemoryTopology {
    private static final int MB = 1 << 20;

    private MemoryTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> said = new ObjectMapper().readValue(arguments[2], Map.class);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new MetricsTopology.Numbers(), 1);
        builder.setBolt("large", new Large(arguments[1]), 1).shuffleGrouping("numbers");
        builder.setBolt("greedy", new Greedy(arguments[1]), 1).shuffleGrouping("numbers");
        builder.setBolt("ballast", new Ballast(arguments[1]), 2).allGrouping("numbers");
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(0);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 24.0);
        conf.putAll(said);
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology());
    }

    static int bytes(Map<String, Object> conf, String key) {
        return ((Number) conf.getOrDefault(key, 0)).intValue() * MB;
    }

    /** It has a state of many bytes from its first tuple on. */
    static final class Large extends MetricsTopology.Noted {
        private static final long serialVersionUID = 1L;

        private transient byte[] content;
        private transient int size;

        Large(String folder) {
            super(folder);
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
            size = bytes(conf, "memory.state");
        }

        @Override
        public void execute(Tuple tuple) {
            super.execute(tuple);
            if (content == null) {
                content = new byte[size];
                note("large");
            }
        }

        @Override
        public byte[] snapshot() {
            return content == null ? new byte[0] : content.clone();
        }

        @Override
        public void restore(byte[] bytes) {
            content = bytes;
        }
    }

    /** It takes all memory there is when it reads its state in another worker. */
    static final class Greedy extends MetricsTopology.Noted {
        private static final long serialVersionUID = 1L;

        Greedy(String folder) {
            super(folder);
        }

        @Override
        public byte[] snapshot() {
            return ByteBuffer.allocate(2 * Long.BYTES).put(super.snapshot()).putLong(ProcessHandle.current().pid()).array();
        }

        @Override
        public void restore(byte[] content) {
            List<byte[]> taken = new ArrayList<>();
            while (ByteBuffer.wrap(content).getLong(Long.BYTES) != ProcessHandle.current().pid()) {
                taken.add(new byte[MB]);
            }
            super.restore(content);
        }
    }

    /** It holds memory where no large state is. */
    static final class Ballast extends MetricsTopology.Noted {
        private static final long serialVersionUID = 1L;

        private transient byte[] held;

        Ballast(String folder) {
            super(folder);
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            super.prepare(conf, context, collector);
            boolean beside = context.getThisWorkerTasks().containsAll(context.getComponentTasks("large"));
            held = new byte[beside ? 0 : bytes(conf, "memory.ballast")];
        }
    }
}
