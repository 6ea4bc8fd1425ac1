package headworks.storm.monitor;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.storm.utils.Utils;

/**
 * Writes the reports of a worker, each one line of JSON on the time since the one before.
 *
 * <p>{@code window} is in milliseconds, {@code cpu} in nanoseconds, {@code heap} in bytes. {@code tasks} has the rows
 * of {@link Counts#tell}, {@code flows} those of {@link Counts#tellFlows}, and {@code executors} has
 * {@code [first task,cpu,queue]}, null where it is not known. {@code sources} has the rows of {@link Sources#tell},
 * {@code pending} those of {@link Counts#tellPending}, {@code delays} those of {@link Delays#tell}, {@code paused} those of
 * {@link Drain#tellPaused}, {@code held} those of {@link Drain#tellHeld}; {@code routes} is what {@link Routes#tell} says.
 */
final class Report {
    private static final int VERSION = 1;
    /** The supervisor's id is the second argument of a worker, and nowhere in the context of a task. */
    private static final Pattern WORKER = Pattern.compile("\\.Worker (\\S+) (\\S+) \\d+ (\\d+) \\S+$");

    private final OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final Threads threads = new Threads();
    final Routes routes = new Routes();
    private final Sources sources;
    private final Drain drain;
    private final String topology;
    private final int port;
    private final String head;
    private long number;
    private long since = System.nanoTime();
    private long cpu = system.getProcessCpuTime();

    Report(String topology, int port) {
        this.topology = topology;
        this.port = port;
        this.sources = new Sources(topology, port);
        this.drain = new Drain(topology, port);
        this.head = "{\"v\":" + VERSION + ",\"topology\":" + quote(topology) + ",\"supervisor\":" + supervisor()
                + ",\"host\":" + host() + ",\"port\":" + port + ",\"started\":" + System.currentTimeMillis();
    }

    String next(Map<Integer, Counts> tasks, long sample, long dropped) {
        StringBuilder json = new StringBuilder(head);
        long now = System.nanoTime();
        json.append(",\"number\":").append(++number).append(",\"time\":").append(System.currentTimeMillis());
        json.append(",\"window\":").append((now - since) / 1_000_000).append(",\"dropped\":").append(dropped);
        since = now;
        long used = system.getProcessCpuTime();
        json.append(",\"cpu\":").append(used - cpu).append(",\"heap\":");
        json.append(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
        cpu = used;
        json.append(",\"sample\":").append(sample).append(",\"tasks\":[");
        tasks.values().forEach(each -> {
            each.tell(json);
            json.append(',');
        });
        close(json).append(",\"flows\":[");
        tasks.values().forEach(each -> each.tellFlows(json));
        close(json).append(",\"pending\":[");
        tasks.values().forEach(each -> each.tellPending(json));
        close(json).append(",\"delays\":[");
        tasks.values().forEach(each -> each.tellDelays(json));
        close(json).append(",\"executors\":[");
        tellExecutors(tasks, json);
        close(json).append(",\"sources\":[");
        sources.tell(json);
        drain.look();
        close(json).append(",\"paused\":[");
        drain.tellPaused(json);
        close(json).append(",\"held\":[");
        drain.tellHeld(json);
        close(json).append(",\"routes\":");
        routes.tell(json);
        return json.append("}\n").toString();
    }

    private void tellExecutors(Map<Integer, Counts> tasks, StringBuilder json) {
        Map<Integer, Long> queues = new TreeMap<>();
        QueueReporter.read(topology, port, queues);
        threads.cpu(tasks.keySet()).forEach((executor, nanoseconds) -> {
            json.append('[').append(executor).append(',').append(nanoseconds).append(',');
            json.append(queues.get(executor)).append("],");
        });
    }

    /** Ends an array, whose last item may have a comma behind it. */
    private static StringBuilder close(StringBuilder json) {
        int last = json.length() - 1;
        if (json.charAt(last) == ',') {
            json.setLength(last);
        }
        return json.append(']');
    }

    private String supervisor() {
        Matcher command = WORKER.matcher(System.getProperty("sun.java.command", ""));
        boolean ours = command.find() && command.group(1).equals(topology);
        return ours && command.group(3).equals(Integer.toString(port)) ? quote(command.group(2)) : "null";
    }

    private static String host() {
        try {
            return quote(Utils.hostname());
        } catch (UnknownHostException unknown) {
            return "null";
        }
    }

    private static String quote(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each < ' ' || each == '"' || each == '\\' || each > '~') {
                json.append(String.format("\\u%04x", (int) each));
            } else {
                json.append(each);
            }
        }
        return json.append('"').toString();
    }
}
