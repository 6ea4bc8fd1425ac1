package headworks.spark.connect;

import headworks.spark.EventQueue;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.classic.StreamingQueryManager;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Events of one session's streaming queries: other clients of the server are none of its business. */
final class SessionEvents extends EventQueue {
    private static final String QUERY = "sql.streaming.queryId";

    private final StreamingQueryManager queries;
    /** Queries of the session that were heard of, which it may have no more. */
    private final Map<String, Boolean> own = new ConcurrentHashMap<String, Boolean>();

    SessionEvents(int capacity, StreamingQueryManager queries) {
        super(capacity);
        this.queries = queries;
    }

    private boolean isOwn(String query) {
        if (query != null && !own.containsKey(query) && queries.get(query) != null) {
            own.put(query, Boolean.TRUE);
        }
        return query != null && own.containsKey(query);
    }

    public void onJobStart(SparkListenerJobStart event) {
        if (event.properties() != null && isOwn(event.properties().getProperty(QUERY))) {
            super.onJobStart(event);
        }
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (isOwn(query(event))) {
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
