package headworks.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/** CPU and memory of every executor, its Python workers included: `spark.plugins` names this class. */
public final class UsagePlugin implements SparkPlugin {
    private static final Map<String, String> LATEST = new ConcurrentHashMap<String, String>();

    /** What executors last said, a line each: "id milliseconds cpu-milliseconds rss-kilobytes processes". */
    public static String read() {
        StringBuilder lines = new StringBuilder();
        Iterator<?> all = LATEST.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<?, ?> each = (Map.Entry<?, ?>) all.next();
            lines.append(each.getKey()).append(' ').append(each.getValue()).append('\n');
        }
        return lines.toString();
    }

    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    /** Takes what executors say. */
    public static final class Driver implements DriverPlugin {
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            LATEST.clear();
            return new HashMap<String, String>();
        }

        public Object receive(Object message) {
            String[] words = ((String) message).split(" ", 2);
            LATEST.put(words[0], words[1]);
            return null;
        }
    }

    /** Looks at its own processes, again and again. */
    public static final class Executor implements ExecutorPlugin, Runnable {
        private static final long MILLIS = 500;

        private final ProcessUsage usage = new ProcessUsage();
        private PluginContext context;
        private volatile boolean ended = false;

        public void init(PluginContext context, Map<String, String> extraConf) {
            this.context = context;
            Thread thread = new Thread(this, "headworks-usage");
            thread.setDaemon(true);
            thread.start();
        }

        public void shutdown() {
            ended = true;
        }

        public void run() {
            while (!ended) {
                try {
                    context.send(context.executorID() + " " + usage.look());
                    Thread.sleep(MILLIS);
                } catch (InterruptedException error) {
                    return;
                } catch (Exception error) {
                    ended = context.executorID() == null;
                }
            }
        }
    }
}
