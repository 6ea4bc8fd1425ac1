package headworks.storm.seats;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Output;
import java.util.List;
import java.util.Map;
import org.apache.storm.serialization.SerializationFactory;
import org.apache.storm.utils.ListDelegate;

/** Storm's serialiser of values, with a bound: Storm's own takes up to 2 GB of the heap before anybody can refuse them. */
final class BoundedValues {
    private static final int FIRST = 2_000;

    private final Kryo kryo;
    private final Output out;

    /**
     * @param conf of the topology
     * @param most bytes
     */
    BoundedValues(Map<String, Object> conf, long most) {
        kryo = SerializationFactory.getKryo(conf);
        out = new Output(FIRST, (int) Math.max(FIRST, Math.min(most, Integer.MAX_VALUE - Long.BYTES)));
    }

    /**
     * Write values, as Storm's own reader of them wants it.
     *
     * @throws com.esotericsoftware.kryo.io.KryoBufferOverflowException there are more bytes
     */
    byte[] serialize(List<Object> values) {
        ListDelegate list = new ListDelegate();
        list.setDelegate(values);
        out.reset();
        kryo.writeObject(out, list);
        return out.toBytes();
    }
}
