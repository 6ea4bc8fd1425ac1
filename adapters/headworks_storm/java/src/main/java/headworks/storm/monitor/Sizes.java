package headworks.storm.monitor;

import com.esotericsoftware.kryo.io.Output;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.storm.serialization.KryoValuesSerializer;

/**
 * How many bytes a tuple takes between workers: Storm's own serialiser writes its values to nowhere. Executors of a
 * worker share one; who finds it in use goes without.
 */
final class Sizes {
    /** Source task, stream and message id, and the frame of a message: about so many bytes, anchors not counted. */
    private static final int ENVELOPE = 10;
    private static final int BUFFER = 4096;
    /** After so many tuples in a row that cannot be serialised nothing is tried any more. */
    private static final int MOST_FAILURES = 16;

    private final Map<String, Object> conf;
    private final ReentrantLock lock = new ReentrantLock();
    private KryoValuesSerializer serializer;
    private int failures;

    Sizes(Map<String, Object> conf) {
        this.conf = conf;
    }

    /** Bytes of a tuple with these values, -1 if that is not known. */
    long of(List<Object> values) {
        if (failures >= MOST_FAILURES || !lock.tryLock()) {
            return -1;
        }
        try {
            if (serializer == null) {
                serializer = new KryoValuesSerializer(conf);
            }
            Output output = new Output(OutputStream.nullOutputStream(), BUFFER);
            serializer.serializeInto(values, output);
            failures = 0;
            return ENVELOPE + output.total();
        } catch (RuntimeException | LinkageError | StackOverflowError unable) {
            serializer = null;
            failures++;
            return -1;
        } finally {
            lock.unlock();
        }
    }
}
