package headworks.storm.seats;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;
import org.apache.storm.utils.WrappedInvalidTopologyException;

/**
 * Runs the main class of a jar that knows nothing of seats, and rewrites the topology that it submits. It stands between
 * Storm's client and Nimbus within this JVM, by the override that Storm has for its local cluster: no port is opened, and
 * Nimbus is reached with the client's own login.
 *
 * <p>Arguments: the class, then its own; what has seats is in the system property {@code headworks.seats.movable}, as JSON.
 */
public final class SubmitProxy {
    private final Nimbus.Iface nimbus;
    private final Object movable;
    private boolean refused;

    private SubmitProxy(Nimbus.Iface nimbus, Object movable) {
        this.nimbus = nimbus;
        this.movable = movable;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> conf = Utils.readStormConfig();
        conf.putAll(Utils.readCommandLineOpts());
        SubmitProxy proxy;
        // The way to Nimbus is opened first: with the override there is no other.
        try (NimbusClient client = NimbusClient.Builder.withConf(conf).build()) {
            proxy = new SubmitProxy(client.getClient(), JSONValue.parse(System.getProperty(Transform.MOVABLE, "{}")));
            try (NimbusClient.LocalOverride override = new NimbusClient.LocalOverride(proxy.between())) {
                Class<?> main = Class.forName(arguments[0], true, Thread.currentThread().getContextClassLoader());
                main.getMethod("main", String[].class)
                    .invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
            }
        }
        if (proxy.refused) {
            System.exit(1); // also if the program has caught the error
        }
    }

    private Nimbus.Iface between() {
        return (Nimbus.Iface) Proxy.newProxyInstance(
            SubmitProxy.class.getClassLoader(), new Class<?>[] {Nimbus.Iface.class}, (self, method, given) -> call(method, given));
    }

    /** One call at a time, as one connection takes them. */
    private synchronized Object call(Method method, Object[] given) throws Throwable {
        if (method.getName().equals("submitTopology") || method.getName().equals("submitTopologyWithOpts")) {
            // name, place of the jar, configuration, topology
            given[2] = rewritten((String) given[2], (StormTopology) given[3]);
        }
        try {
            return method.invoke(nimbus, given);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    @SuppressWarnings("unchecked")
    private String rewritten(String json, StormTopology topology) throws WrappedInvalidTopologyException {
        Map<String, Object> conf = (Map<String, Object>) JSONValue.parse(json);
        if (!((Map<String, Object>) movable).isEmpty()) {
            conf.put(Transform.MOVABLE, movable);
        }
        try {
            Door.rewrite(topology, conf);
        } catch (Refusal refusal) {
            refused = true;
            System.out.println(Door.REFUSES + refusal.getMessage());
            throw new WrappedInvalidTopologyException(refusal.getMessage());
        }
        return JSONValue.toJSONString(conf);
    }
}
