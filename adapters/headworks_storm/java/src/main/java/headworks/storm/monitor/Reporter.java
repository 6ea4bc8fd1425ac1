package headworks.storm.monitor;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.task.WorkerTopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread of a worker that reports what its tasks did. It runs from the first task that joins until the last one
 * leaves, and alone pays for what is slow: the network, the gauges, the text.
 */
final class Reporter implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    /** By topology and port: in a local cluster workers share a process. */
    private static final Map<String, Reporter> REPORTERS = new ConcurrentHashMap<>();

    final Sizes sizes;
    private final String key;
    private final Settings settings;
    private final Map<Integer, Counts> tasks = new ConcurrentSkipListMap<>();
    private final Report report;
    private final Wires wires;
    private final Thread thread;
    private volatile boolean stopped;

    private Reporter(String key, Settings settings, Map<String, Object> conf, WorkerTopologyContext context) {
        this.key = key;
        this.settings = settings;
        this.sizes = new Sizes(conf);
        this.report = new Report(context.getStormId(), context.getThisWorkerPort());
        this.wires = new Wires(settings, context.getStormId());
        this.thread = new Thread(this, "headworks-reporter-" + key);
        thread.setDaemon(true);
    }

    static synchronized Reporter join(
            Counts counts, Settings settings, Map<String, Object> conf, WorkerTopologyContext context) {
        String key = context.getStormId() + "-" + context.getThisWorkerPort();
        Reporter reporter = REPORTERS.get(key);
        if (reporter == null) {
            reporter = new Reporter(key, settings, conf, context);
            REPORTERS.put(key, reporter);
            reporter.thread.start();
        }
        reporter.tasks.put(counts.task, counts);
        return reporter;
    }

    /** Takes the context of a tuple, if its worker reports. */
    static void know(String topology, int port, GeneralTopologyContext context) {
        Reporter reporter = REPORTERS.get(topology + "-" + port);
        if (reporter != null) {
            reporter.report.routes.know(context);
        }
    }

    void leave(int task) {
        synchronized (Reporter.class) {
            tasks.remove(task);
            if (tasks.isEmpty() && REPORTERS.remove(key, this)) {
                stopped = true;
                thread.interrupt();
                wires.close();
            }
        }
    }

    @Override
    public void run() {
        long due = System.nanoTime();
        while (!stopped) {
            due = Math.max(due + settings.periodMs * 1_000_000, System.nanoTime());
            try {
                Thread.sleep((due - System.nanoTime()) / 1_000_000);
                tasks.values().forEach(each -> each.pace(settings.periodMs / 1000.0));
                wires.send(report.next(new TreeMap<>(tasks), settings.sample, wires.dropped()));
            } catch (InterruptedException asked) {
                return;
            } catch (Throwable error) {
                LOG.warn("A report of this worker is left out: {}", error.toString());
            }
        }
    }
}
