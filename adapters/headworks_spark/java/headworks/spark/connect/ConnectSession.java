package headworks.spark.connect;

import headworks.spark.KafkaLeaders;
import headworks.spark.ShuffleSizes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.status.api.v1.ExecutorSummary;
import scala.Tuple2;
import scala.collection.Iterator;

/** Calls of a client of Spark Connect about its session and the driver: each public method is one. */
public final class ConnectSession {
    private static final String OURS = "headworks.spark.";
    /** Begins of the settings that a client may know: others are secrets, or none of its business. */
    private static final String[] TOLD = {
        "spark.dynamicAllocation.", "spark.executor.memory", "spark.executor.pyspark.memory", "spark.master",
        "spark.headworks.kafka.", "spark.memory.offHeap.", "spark.speculation", "spark.task.",
    };

    private final SparkSession session;
    private final SparkContext context;

    ConnectSession(SparkSession session) {
        this.session = session;
        this.context = session.sparkContext();
    }

    /** "hard" if the driver has Headworks's task scheduler, else "none". */
    public String level() {
        return context.taskScheduler().getClass().getName().startsWith(OURS) ? "hard" : "none";
    }

    /** Settings of the driver that begin so, of those that a client may know. */
    public Map<String, String> settings(String prefix) {
        Map<String, String> found = new HashMap<String, String>();
        Tuple2<String, String>[] all = context.conf().getAll();
        for (int i = 0; i < all.length; i++) {
            String name = (String) all[i]._1();
            if (name.startsWith(prefix) && isTold(name)) {
                found.put(name, (String) all[i]._2());
            }
        }
        return found;
    }

    private static boolean isTold(String name) {
        boolean told = false;
        for (int i = 0; i < TOLD.length; i++) {
            told |= name.startsWith(TOLD[i]);
        }
        return told;
    }

    /** Megabytes of heap of each executor. */
    public int heap() {
        return context.executorMemory();
    }

    /** Executors that take tasks, or all that were ever there. */
    public List<Object> executors(boolean alive) {
        List<Object> found = new ArrayList<Object>();
        Iterator<?> all = ((scala.collection.Iterable<?>) (Object) context.statusStore().executorList(alive)).iterator();
        while (all.hasNext()) {
            ExecutorSummary each = (ExecutorSummary) all.next();
            if (!each.id().equals("driver") && (!alive || isKnown(each.id()))) {
                found.add(executor(each));
            }
        }
        return found;
    }

    /** False of an executor that the task scheduler has not heard of: tasks that are placed there would go elsewhere. */
    private boolean isKnown(String executor) {
        TaskSchedulerImpl scheduler = (TaskSchedulerImpl) context.taskScheduler();
        return level().equals("none") || scheduler.isExecutorAlive(executor)
            || scheduler.getExecutorDecommissionState(executor).isDefined();
    }

    private static Map<String, Object> executor(ExecutorSummary summary) {
        Map<String, Object> found = new HashMap<String, Object>();
        found.put("id", summary.id());
        found.put("address", summary.hostPort());
        found.put("cores", Integer.valueOf(summary.totalCores()));
        found.put("attributes", new HashMap<String, Object>());
        found.put("resources", new HashMap<String, Object>());
        copy((scala.collection.Map<?, ?>) (Object) summary.attributes(), (Map<String, Object>) found.get("attributes"));
        copy((scala.collection.Map<?, ?>) (Object) summary.resources(), (Map<String, Object>) found.get("resources"));
        return found;
    }

    private static void copy(scala.collection.Map<?, ?> from, Map<String, Object> to) {
        Iterator<?> all = from.iterator();
        while (all.hasNext()) {
            Tuple2<?, ?> each = (Tuple2<?, ?>) all.next();
            Object value = each._2();
            boolean counted = value instanceof ResourceInformation;
            to.put((String) each._1(),
                counted ? (Object) Integer.valueOf(((ResourceInformation) value).addresses().length) : value);
        }
    }

    /** Hear events of the session's own queries, and of what they share, under a name; so many may wait. */
    public void listen(String name, int capacity) {
        ReadEvents.open(named(name), new SessionEvents(capacity, session.streams()), context);
    }

    /** See `ReadEvents.take`. */
    public Object[] take(String name, long number, int most, long millis, long linger) throws InterruptedException {
        return ReadEvents.take(named(name), number, most, millis, linger);
    }

    /** Hear no more; what was heard can still be taken. */
    public void deafen(String name) {
        ReadEvents.close(named(name));
    }

    private String named(String name) {
        return session.sessionUUID() + "/" + name;
    }

    /** See `ShuffleSizes.read`. */
    public byte[] sizes(long mapId, int reduces) {
        return new ShuffleSizes().read(mapId, reduces);
    }

    /** Kind and milliseconds of the trigger of a query; an empty kind where it is not active. */
    public Object[] trigger(String id) throws Exception {
        return QueryFacts.trigger(query(id));
    }

    /** The plan of the last batch of a query, as operators with their children; null before its first. */
    public Map<String, Object> plan(String id) throws Exception {
        return QueryFacts.plan(query(id));
    }

    /** See `KafkaLeaders.read`: of a scan of the last batch of a query, by its number; nothing where there is none. */
    public List<Object> leaders(String id, int scan) throws Exception {
        Object found = QueryFacts.scan(query(id), scan);
        return found == null ? new ArrayList<Object>() : new KafkaLeaders().read(found);
    }

    private StreamingQuery query(String id) {
        return (StreamingQuery) session.streams().get(id);
    }

    /** Refuse to change places of anything but a query that this session has started. */
    void refuseOthers(String scope) {
        if (query(scope) == null) {
            throw new IllegalArgumentException("no active query of this session has the id " + scope);
        }
    }
}
