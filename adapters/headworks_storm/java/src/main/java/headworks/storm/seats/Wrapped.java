package headworks.storm.seats;

import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.JavaObject;
import org.apache.storm.generated.ShellComponent;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.spout.ShellSpout;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.thrift.TBase;
import org.apache.storm.Thrift;
import org.apache.storm.utils.Utils;

/** A component in place of a user's own, which it carries: the Thrift struct of its whole description. */
interface Wrapped {
    /** Serialised {@code Bolt} or {@code SpoutSpec}, as it was submitted. */
    byte[] spec();

    /** The user's bolt or spout, made as Storm's {@code Task} makes it. */
    static Object component(byte[] spec, boolean spout) {
        ComponentObject object = spout ? read(spec, SpoutSpec.class).get_spout_object()
            : read(spec, Bolt.class).get_bolt_object();
        Object made = Utils.getSetComponentObject(object);
        if (made instanceof ShellComponent) {
            ShellComponent shell = (ShellComponent) made;
            return spout ? new ShellSpout(shell) : new ShellBolt(shell);
        }
        return made instanceof JavaObject ? Thrift.instantiateJavaObject((JavaObject) made) : made;
    }

    /** A Thrift struct of these bytes. */
    static <T extends TBase<?, ?>> T read(byte[] spec, Class<T> kind) {
        return Utils.thriftDeserialize(kind, spec);
    }
}
