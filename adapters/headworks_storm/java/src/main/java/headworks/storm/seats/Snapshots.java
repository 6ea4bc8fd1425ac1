package headworks.storm.seats;

import com.esotericsoftware.kryo.io.KryoBufferOverflowException;
import java.lang.ref.SoftReference;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.serialization.KryoValuesDeserializer;
import org.apache.storm.task.IBolt;
import org.apache.storm.topology.BasicBoltExecutor;
import org.apache.storm.utils.ObjectReader;

/** Takes the state of a bolt as bytes, and gives it to another instance, as was declared of its component; in one thread. */
final class Snapshots {
    /** Key of a topology's configuration: most MB of a state. With more, a task pauses for longer than anyone wants. */
    static final String MOST = "headworks.seats.state.mb";

    private static final String FIELDS = "fields:";
    private static final int USUAL_MOST = 64;

    private final String state;
    private final Map<String, Object> conf;
    private final long most;
    // A trial comes before each move: what takes the state then knows its classes, and has a buffer of its size.
    private SoftReference<BoundedValues> serializer = new SoftReference<>(null);
    private KryoValuesDeserializer deserializer;

    /**
     * @param state {@code stateless}, {@code movable}, or {@code fields:} and their names
     * @param conf of the topology, for Storm's serialiser
     */
    Snapshots(String state, Map<String, Object> conf) {
        this.state = state;
        this.conf = conf;
        most = ObjectReader.getInt(conf.get(MOST), USUAL_MOST) * (1L << 20);
    }

    /** Make ready to give a state: the task that comes waits for less then. */
    void prepare() {
        if (state.startsWith(FIELDS)) {
            deserializer = new KryoValuesDeserializer(conf);
        }
    }

    private BoundedValues serializer() {
        BoundedValues found = serializer.get();
        if (found == null) {
            found = new BoundedValues(conf, most);
            serializer = new SoftReference<>(found);
        }
        return found;
    }

    /** Whether the bolt writes and reads its state itself. */
    boolean movable() {
        return !state.startsWith(FIELDS) && !state.equals(Seating.STATELESS);
    }

    /** The state of a bolt. */
    byte[] take(IBolt bolt) throws SnapshotException {
        byte[] content;
        try {
            content = content(bolt);
        } catch (KryoBufferOverflowException larger) {
            throw new SnapshotException(tooLarge(), larger);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError | VirtualMachineError failed) {
            throw new SnapshotException("its state (" + state + ") cannot be taken: " + failed, failed);
        }
        if (content.length > most) {
            throw new SnapshotException(tooLarge(), null);
        }
        return content;
    }

    private String tooLarge() {
        return "its state has more than the " + most + " bytes of " + MOST;
    }

    /**
     * The state of a bolt, if it can be had, and, but for one that the bolt reads itself, be read again.
     *
     * @param census of the bolt since it was prepared
     */
    byte[] attempt(IBolt bolt, Census census) throws SnapshotException {
        byte[] content = take(bolt);
        if (!state.startsWith(FIELDS)) {
            return content;
        }
        try {
            new KryoValuesDeserializer(conf).deserialize(content);
        } catch (RuntimeException | LinkageError | VirtualMachineError failed) {
            throw new SnapshotException("its state (" + state + ") can be written and not be read again: " + failed, failed);
        }
        List<String> changed = census.changed();
        changed.removeAll(names());
        if (!changed.isEmpty()) {
            throw new SnapshotException("its bolt keeps " + String.join(", ", changed) + ", which changed since it was "
                + "prepared, and which " + state + " does not name", null);
        }
        return content;
    }

    private List<String> names() {
        return Arrays.stream(state.substring(FIELDS.length()).split(",")).map(String::trim).collect(Collectors.toList());
    }

    private byte[] content(IBolt bolt) throws ReflectiveOperationException {
        Object own = own(bolt);
        if (state.startsWith(FIELDS)) {
            List<Object> values = new ArrayList<>();
            for (Field field : fields(own)) {
                values.add(field.get(own));
            }
            return serializer().serialize(values);
        }
        return state.equals(Seating.STATELESS) ? new byte[0] : ((Movable) own).snapshot();
    }

    /** Give a bolt, which is prepared, a state. */
    void give(IBolt bolt, byte[] content) {
        Object own = own(bolt);
        try {
            if (state.startsWith(FIELDS)) {
                if (deserializer == null) {
                    prepare();
                }
                KryoValuesDeserializer reader = deserializer;
                deserializer = null; // it would keep the content
                List<Object> values = reader.deserialize(content);
                List<Field> fields = fields(own);
                for (int i = 0; i < fields.size(); i++) {
                    fields.get(i).set(own, values.get(i));
                }
            } else if (movable()) {
                ((Movable) own).restore(content);
            }
        } catch (ReflectiveOperationException failed) {
            throw new IllegalStateException("the state (" + state + ") cannot be given to " + own.getClass(), failed);
        }
    }

    private List<Field> fields(Object own) throws ReflectiveOperationException {
        List<Field> fields = new ArrayList<>();
        for (String name : names()) {
            Field field = field(own.getClass(), name);
            field.setAccessible(true);
            fields.add(field);
        }
        return fields;
    }

    private static Field field(Class<?> kind, String name) throws NoSuchFieldException {
        for (Class<?> each = kind; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    return field;
                }
            }
        }
        throw new NoSuchFieldException(kind.getName() + " has no field " + name);
    }

    /** The user's own bolt, which Storm may drive by one of its own. */
    static Object own(IBolt bolt) {
        if (!(bolt instanceof BasicBoltExecutor)) {
            return bolt;
        }
        try {
            Field field = BasicBoltExecutor.class.getDeclaredField("bolt");
            field.setAccessible(true);
            return field.get(bolt);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException("this Storm drives basic bolts in another way", other);
        }
    }
}
