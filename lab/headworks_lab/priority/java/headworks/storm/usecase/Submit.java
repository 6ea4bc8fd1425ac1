package headworks.storm.usecase;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.kafka.spout.KafkaSpout;
import org.apache.storm.kafka.spout.KafkaSpoutConfig;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Submits a topology of a use case (Chakraborty, sections 4.1.2 and 4.2.2), which a file describes, its one argument.
 *
 * <p>EventTP: spout, parse, detect, dispatch. ArchivalTP: spout, tag, write. TP: spout, parse, count, dispatch.
 */
public final class Submit {
    /** Offsets are committed so often. With longer, more is sent again after a topology paused. */
    private static final long COMMIT_MS = 500;

    private Submit() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> described = new ObjectMapper().readValue(new File(arguments[0]), Map.class);
        Settings settings = new Settings(described);
        Map<String, Object> conf = (Map<String, Object>) described.get("conf");
        StormSubmitter.submitTopology(settings.name, conf, topology(settings));
    }

    private static StormTopology topology(Settings settings) {
        switch (settings.kind) {
            case "event":
                return event(settings);
            case "archive":
                return archival(settings);
            default:
                return feed(settings);
        }
    }

    private static StormTopology event(Settings settings) {
        TopologyBuilder builder = new TopologyBuilder();
        int tasks = settings.tasks;
        builder.setSpout("spout", spout(settings), tasks);
        builder.setBolt("parse", new ParseBolt(), tasks).localOrShuffleGrouping("spout");
        // All readings of a gateway to one task: it sees whole batches.
        builder.setBolt("detect", new EventDetectorBolt(settings), tasks).fieldsGrouping("parse", new Fields("source"));
        builder.setBolt("dispatch", new EventDispatcherBolt(settings), 1).globalGrouping("detect");
        return builder.createTopology();
    }

    private static StormTopology archival(Settings settings) {
        TopologyBuilder builder = new TopologyBuilder();
        int tasks = settings.tasks;
        builder.setSpout("spout", spout(settings), tasks);
        builder.setBolt("archive", new ArchivalBolt(settings), tasks).localOrShuffleGrouping("spout");
        builder.setBolt("write", new BatchDispatcherBolt(settings), tasks)
            .fieldsGrouping("archive", new Fields("source"));
        return builder.createTopology();
    }

    private static StormTopology feed(Settings settings) {
        TopologyBuilder builder = new TopologyBuilder();
        int tasks = settings.tasks;
        builder.setSpout("spout", spout(settings), tasks);
        builder.setBolt("parse", new ParseBolt(), tasks).localOrShuffleGrouping("spout");
        builder.setBolt("count", new CounterBolt(settings), tasks).fieldsGrouping("parse", new Fields("source"));
        builder.setBolt("dispatch", new ResultDispatcherBolt(settings), 1).globalGrouping("count");
        return builder.createTopology();
    }

    private static KafkaSpout<String, String> spout(Settings settings) {
        return new KafkaSpout<>(KafkaSpoutConfig.builder(settings.broker, settings.topic)
            .setProp(ConsumerConfig.GROUP_ID_CONFIG, settings.name)
            .setOffsetCommitPeriodMs(COMMIT_MS)
            .setRecordTranslator(record -> List.of(record.value()), new Fields("line"))
            .build());
    }
}
