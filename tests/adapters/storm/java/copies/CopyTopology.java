import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.kafka.spout.KafkaSpout;
import org.apache.storm.kafka.spout.KafkaSpoutConfig;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Copies the topic NAME.in to NAME.out, partition by partition: Kafka's spout, a bolt that passes on, one that writes.
 *
 * <p>Kafka's spout may send again what was acknowledged. So the bolt that writes first reads what its partitions have, and
 * writes nothing that is there. Arguments: name, address of the broker, partitions, tasks that pass on, settings as JSON.
 */
public final class CopyTopology {
    private static final long COMMIT_MS = 500;

    private CopyTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        String broker = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new KafkaSpout<>(KafkaSpoutConfig.builder(broker, name + ".in")
            .setProp(ConsumerConfig.GROUP_ID_CONFIG, name)
            .setOffsetCommitPeriodMs(COMMIT_MS)
            .setRecordTranslator(record -> List.of(record.partition(), record.value()), new Fields("partition", "id"))
            .build()), partitions);
        builder.setBolt("pass", new Pass(), Integer.parseInt(arguments[3])).shuffleGrouping("source");
        builder.setBolt("write", new Write(broker, name + ".out"), partitions).fieldsGrouping("pass", new Fields("partition"));
        Config conf = new Config();
        conf.setNumAckers(1);
        conf.setMessageTimeoutSecs(300);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 32.0);
        conf.putAll(new ObjectMapper().readValue(arguments[4], Map.class));
        StormSubmitter.submitTopology(name, conf, builder.createTopology());
    }

    static final class Pass extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            collector.emit(new Values(tuple.getValue(0), tuple.getValue(1)));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("partition", "id"));
        }
    }

    static final class Write extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        private final String broker;
        private final String topic;
        private transient Map<Integer, Set<String>> there;
        private transient KafkaProducer<String, String> producer;
        private transient OutputCollector collector;

        Write(String broker, String topic) {
            this.broker = broker;
            this.topic = topic;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            there = new HashMap<>();
            producer = new KafkaProducer<>(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, broker,
                ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 280_000), new StringSerializer(), new StringSerializer());
        }

        @Override
        public void execute(Tuple tuple) {
            int partition = tuple.getInteger(0);
            String id = tuple.getString(1);
            if (there.computeIfAbsent(partition, this::read).add(id)) {
                try {
                    producer.send(new ProducerRecord<>(topic, partition, null, id)).get();
                } catch (InterruptedException ended) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("the worker ends", ended);
                } catch (ExecutionException error) {
                    throw new IllegalStateException(error.getCause());
                }
            }
            collector.ack(tuple);
        }

        /** All that a partition has. */
        private Set<String> read(int partition) {
            Map<String, Object> conf = Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, broker);
            TopicPartition from = new TopicPartition(topic, partition);
            Set<String> found = new HashSet<>();
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(conf, new StringDeserializer(), new StringDeserializer())) {
                consumer.assign(List.of(from));
                consumer.seekToBeginning(List.of(from));
                long end = consumer.endOffsets(List.of(from)).get(from);
                while (consumer.position(from) < end) {
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                        found.add(each.value());
                    }
                }
            }
            return found;
        }

        @Override
        public void cleanup() {
            producer.close();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
