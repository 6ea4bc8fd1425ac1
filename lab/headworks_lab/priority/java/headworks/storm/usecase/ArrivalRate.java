package headworks.storm.usecase;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Looks once a second how many tuples come to a topic, and tells when more than a threshold come, or no more.
 *
 * <p>A thread of its own looks: a task that works has no time for it, and one whose spouts pause has no tuples.
 */
final class ArrivalRate implements AutoCloseable {
    /** Looks in a row that have to agree (section 4.2.7: 3 seconds). */
    private static final int LOOKS = 3;
    private static final long LOOK_MS = 1000;

    private final Settings settings;
    private final Consumer<Boolean> tell;
    private final Thread thread = new Thread(this::run, "arrival-rate");
    private Boolean told;
    private boolean last;
    private int agreed;

    /** Begins to look. */
    ArrivalRate(Settings settings, Consumer<Boolean> tell) {
        this.settings = settings;
        this.tell = tell;
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        Map<String, Object> conf = Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, settings.broker);
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(conf, new StringDeserializer(), new StringDeserializer())) {
            watch(consumer);
        } catch (InterruptedException | KafkaException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private void watch(KafkaConsumer<String, String> consumer) throws InterruptedException {
        long before = -1;
        long since = 0;
        while (true) {
            Thread.sleep(LOOK_MS);
            try {
                long end = end(consumer);
                long now = System.nanoTime();
                if (before >= 0) {
                    look((end - before) * 1e9 / (now - since) > settings.threshold);
                }
                before = end;
                since = now;
            } catch (TimeoutException gone) {
                // The broker is not there: the next look counts from the last one that it answered.
            }
        }
    }

    private long end(KafkaConsumer<String, String> consumer) {
        List<TopicPartition> parts = consumer.partitionsFor(settings.topic).stream()
            .map(each -> new TopicPartition(each.topic(), each.partition())).collect(Collectors.toList());
        return consumer.endOffsets(parts).values().stream().mapToLong(Long::longValue).sum();
    }

    private void look(boolean isAbove) {
        agreed = isAbove == last ? agreed + 1 : 1;
        last = isAbove;
        if (agreed >= LOOKS && (told == null || told != isAbove)) {
            told = isAbove;
            tell.accept(isAbove);
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
