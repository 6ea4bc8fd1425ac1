package headworks.storm.seats;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectStreamClass;
import java.io.ObjectStreamField;
import java.util.ArrayList;
import java.util.List;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.topology.BasicBoltExecutor;

/**
 * The class of a component and the names of its fields, read from the class descriptors of its serialised form: no class of
 * a user is loaded, which makes it safe within Nimbus.
 */
final class Kinds {
    private static final String WINDOWED = ".*\\.(Stateful|Persistent)?WindowedBoltExecutor";

    /** Name of the class; of a program in another language what runs it. */
    final String name;
    /** Fields of the class itself that are serialised. */
    final List<String> fields;
    /** The executor of Storm's that drives the component, else the component itself. */
    private final String driver;
    private final boolean java;

    private Kinds(String name, List<String> fields, String driver, boolean java) {
        this.name = name;
        this.fields = fields;
        this.driver = driver;
        this.java = java;
    }

    static Kinds of(ComponentObject object) {
        if (object.is_set_shell()) {
            return new Kinds(object.get_shell().get_execution_command(), List.of(), "", false);
        }
        if (object.is_set_java_object()) {
            String name = object.get_java_object().get_full_class_name();
            return new Kinds(name, List.of(), name, true);
        }
        Descriptors read = new Descriptors();
        read.all(object.get_serialized_java());
        if (read.found.isEmpty()) {
            return new Kinds("unknown", List.of(), "", false);
        }
        // The descriptors of the classes that a class extends come behind its own.
        boolean shell = read.found.stream().anyMatch(each -> each.getName().equals(ShellBolt.class.getName()));
        String driver = read.found.get(0).getName();
        // Its one field that is serialised is the bolt, whose descriptor comes next.
        boolean inner = driver.equals(BasicBoltExecutor.class.getName()) && read.found.size() > 1;
        ObjectStreamClass own = read.found.get(inner ? 1 : 0);
        List<String> fields = new ArrayList<>();
        for (ObjectStreamField field : own.getFields()) {
            fields.add(field.getName());
        }
        return new Kinds(own.getName(), fields, driver, !shell);
    }

    /** Whether it is one of the classes of this package. */
    boolean wrapped() {
        return name.equals(SeatBolt.class.getName()) || name.equals(PinnedBolt.class.getName())
            || name.equals(SeatSpout.class.getName());
    }

    /** Why it cannot have seats, whatever is said of its state; null if it can. */
    String unfit() {
        if (!java) {
            return "it is a program in another language, whose state is in a process of its own";
        }
        if (driver.matches(WINDOWED)) {
            return "it is windowed: the tuples that it holds are its state, and its timers fire in other threads";
        }
        if (driver.endsWith(".StatefulBoltExecutor") || driver.endsWith(".CheckpointTupleForwarder")) {
            return "it takes part in Storm's checkpoints, whose bookkeeping is in memory";
        }
        if (trident()) {
            return "it belongs to Trident, whose bookkeeping of batches is in memory";
        }
        return null;
    }

    /** Whether it belongs to Trident or to transactional topologies. */
    boolean trident() {
        return driver.startsWith("org.apache.storm.trident.") || driver.startsWith("org.apache.storm.transactional.")
            || driver.startsWith("org.apache.storm.coordination.");
    }

    /** Name without its package. */
    String simple() {
        return name.substring(1 + Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')));
    }

    /** Reads the descriptors of all classes of a stream, and makes no object. */
    private static final class Descriptors {
        private final List<ObjectStreamClass> found = new ArrayList<>();

        void all(byte[] stream) {
            try (ObjectInputStream input = new Reader(new ByteArrayInputStream(stream))) {
                input.readObject();
            } catch (ClassNotFoundException | IOException | RuntimeException unresolved) {
                // As intended: no class was resolved. What was found before stands.
            }
        }

        private final class Reader extends ObjectInputStream {
            Reader(InputStream stream) throws IOException {
                super(stream);
            }

            @Override
            protected ObjectStreamClass readClassDescriptor() throws IOException, ClassNotFoundException {
                ObjectStreamClass descriptor = super.readClassDescriptor();
                found.add(descriptor);
                return descriptor;
            }

            @Override
            protected Class<?> resolveClass(ObjectStreamClass descriptor) throws ClassNotFoundException {
                throw new ClassNotFoundException(descriptor.getName());
            }

            @Override
            protected Class<?> resolveProxyClass(String[] interfaces) throws ClassNotFoundException {
                throw new ClassNotFoundException(String.join(" ", interfaces));
            }
        }
    }
}
