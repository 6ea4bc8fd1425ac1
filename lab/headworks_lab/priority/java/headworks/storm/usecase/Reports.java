package headworks.storm.usecase;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/** Tells a topic of each batch that is done; the message's own time is when. */
final class Reports {
    private final KafkaProducer<String, String> producer;
    private final Settings settings;

    Reports(Settings settings) {
        this.settings = settings;
        Map<String, Object> conf = Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, settings.broker);
        producer = new KafkaProducer<>(conf, new StringSerializer(), new StringSerializer());
    }

    /** Returns when the broker has it. */
    void send(String source, String batch, int count, boolean isEvent) {
        String text = JSONValue.toJSONString(Map.of("topology", settings.name, "source", source, "batch", batch, "count",
            count, "event", isEvent));
        try {
            producer.send(new ProducerRecord<>(settings.reports, text)).get();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the worker ends", ended);
        } catch (ExecutionException error) {
            throw new IllegalStateException(error.getCause());
        }
    }

    void close() {
        producer.close();
    }
}
