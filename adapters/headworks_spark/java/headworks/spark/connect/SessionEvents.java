package headworks.spark.connect;

import headworks.spark.EventQueue;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.classic.StreamingQueryManager;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import scala.collection.Iterator;

/**
 * Events of one session's streaming queries: other clients of the server are none of its business.
 *
 * Where nobody reads them any more, none is kept: clients die, and queries go on. Spark's bus calls from one thread.
 */
final class SessionEvents extends EventQueue {
    /** Nanoseconds after which a reader is taken to be dead. */
    private static final long SILENCE = 300L * 1000000000L;
    /** Events that may wait at most, whatever a client asks for: if larger, a client takes more of the driver's heap. */
    private static final int MOST = 100000;
    private static final String QUERY = "sql.streaming.queryId";

    private final StreamingQueryManager queries;
    /** Queries of the session that were heard of, which it may have no more. */
    private final Map<String, Boolean> own = new ConcurrentHashMap<String, Boolean>();
    /** Jobs of these that run, and the job of each of their stages. */
    private final Set<Integer> jobs = new HashSet<Integer>();
    private final Map<Integer, Integer> stages = new HashMap<Integer, Integer>();
    private volatile long read = System.nanoTime();

    SessionEvents(int capacity, StreamingQueryManager queries) {
        super(Math.min(capacity, MOST));
        this.queries = queries;
    }

    /** Note that somebody reads. */
    void read() {
        read = System.nanoTime();
    }

    /** True if nobody has read for so long that nobody will. */
    boolean isSilent() {
        return System.nanoTime() - read > SILENCE;
    }

    /** Forget all if nobody will read it; the bus has its lock while it ends, so this listener is not removed here. */
    private boolean isForgotten() {
        boolean silent = isSilent();
        if (silent) {
            jobs.clear();
            stages.clear();
            clear();
        }
        return silent;
    }

    private boolean isOwn(String query) {
        if (query != null && !own.containsKey(query) && queries.get(query) != null) {
            own.put(query, Boolean.TRUE);
        }
        return query != null && own.containsKey(query);
    }

    public void onJobStart(SparkListenerJobStart event) {
        if (!isForgotten() && event.properties() != null && isOwn(event.properties().getProperty(QUERY))) {
            jobs.add(Integer.valueOf(event.jobId()));
            Iterator<?> all = ((scala.collection.Iterable<?>) (Object) event.stageInfos()).iterator();
            while (all.hasNext()) {
                stages.put(Integer.valueOf(((StageInfo) all.next()).stageId()), Integer.valueOf(event.jobId()));
            }
            super.onJobStart(event);
        }
    }

    public void onTaskEnd(SparkListenerTaskEnd event) {
        if (stages.containsKey(Integer.valueOf(event.stageId()))) {
            super.onTaskEnd(event);
        }
    }

    public void onStageCompleted(SparkListenerStageCompleted event) {
        if (stages.containsKey(Integer.valueOf(event.stageInfo().stageId()))) {
            super.onStageCompleted(event);
        }
    }

    public void onJobEnd(SparkListenerJobEnd event) {
        if (jobs.remove(Integer.valueOf(event.jobId()))) {
            stages.values().removeAll(Collections.singleton(Integer.valueOf(event.jobId())));
            super.onJobEnd(event);
        }
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (!isForgotten() && isOwn(query(event))) {
            super.onOtherEvent(event);
        }
    }

    private static String query(SparkListenerEvent event) {
        if (event instanceof StreamingQueryListener.QueryProgressEvent) {
            return ((StreamingQueryListener.QueryProgressEvent) event).progress().id().toString();
        }
        if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
            return ((StreamingQueryListener.QueryTerminatedEvent) event).id().toString();
        }
        return null;
    }
}
