package headworks.storm.monitor;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * Where a worker sends tuples: the table that it reads anew every few seconds, after others have moved.
 *
 * <p>It is told as a digest, for it has every task of every component that this worker sends to: the sum of the CRC-32 of
 * {@code TASK NODE:PORT} of each. The context of a task does not have the table, that of a tuple does: a worker whose bolts
 * never had one tells nothing.
 */
final class Routes {
    private volatile WorkerTopologyContext context;
    private Map<Integer, NodeInfo> table = Map.of();
    private String told = "{\"to\":[],\"digest\":0}";

    /** Takes the context of a tuple. */
    void know(GeneralTopologyContext found) {
        if (found instanceof WorkerTopologyContext) {
            context = (WorkerTopologyContext) found;
        }
    }

    /** Appends one task of each component that is sent to, and the digest; null where it is not known. */
    void tell(StringBuilder json) {
        WorkerTopologyContext found = context;
        try {
            json.append(found == null ? "null" : text(found));
        } catch (RuntimeException | LinkageError unknown) {
            json.append("null");
        }
    }

    private String text(WorkerTopologyContext context) {
        Map<Integer, NodeInfo> now = context.getTaskToNodePort().get();
        if (!now.equals(table)) {
            told = text(context, now);
            table = now;
        }
        return told;
    }

    private static String text(WorkerTopologyContext context, Map<Integer, NodeInfo> now) {
        SortedMap<String, Integer> components = new TreeMap<>();
        long digest = 0;
        for (Map.Entry<Integer, NodeInfo> each : now.entrySet()) {
            components.merge(context.getComponentId(each.getKey()), each.getKey(), Math::min);
            String place = each.getValue().get_node() + ":" + each.getValue().get_port().iterator().next();
            CRC32 sum = new CRC32();
            sum.update((each.getKey() + " " + place).getBytes(StandardCharsets.UTF_8));
            digest += sum.getValue();
        }
        return "{\"to\":" + components.values().toString().replace(" ", "") + ",\"digest\":" + digest + "}";
    }
}
