package headworks.storm.workload;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.task.TopologyContext;

/**
 * Runs a described topology in Storm's local mode and writes down what one component emits.
 *
 * <p>Arguments: the description, the component, the file for its tuples, one JSON array a line, and how many of them
 * are enough.
 */
public final class LocalRun {
    private static final AtomicLong EMITTED = new AtomicLong();

    private LocalRun() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> described = new ObjectMapper().readValue(new File(arguments[0]), Map.class);
        Config conf = new Config();
        conf.putAll((Map<String, Object>) described.get("conf"));
        conf.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, List.of(Written.class.getName()));
        conf.put("written.component", arguments[1]);
        conf.put("written.file", arguments[2]);
        try (LocalCluster cluster = new LocalCluster();
                LocalCluster.LocalTopology running =
                        cluster.submitTopology((String) described.get("name"), conf, Builder.build(described))) {
            while (EMITTED.get() < Long.parseLong(arguments[3])) {
                Thread.sleep(100);
            }
        }
        System.exit(0);
    }

    /** Writes down the tuples that each task of the component emits. */
    public static final class Written extends BaseTaskHook {
        private static final ObjectMapper JSON = new ObjectMapper();
        private Writer file;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            if (context.getThisComponentId().equals(conf.get("written.component"))) {
                try {
                    file = Files.newBufferedWriter(Path.of(conf.get("written.file") + "." + context.getThisTaskIndex()));
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            }
        }

        @Override
        public void emit(EmitInfo info) {
            if (file == null || !"default".equals(info.stream)) { // acks are emitted too
                return;
            }
            try {
                file.write(JSON.writeValueAsString(info.values) + "\n");
                file.flush();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            EMITTED.incrementAndGet();
        }
    }
}
