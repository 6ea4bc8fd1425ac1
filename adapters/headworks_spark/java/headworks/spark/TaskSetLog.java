package headworks.spark;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Properties;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.Marker;

/**
 * The log of a task set of a streaming query, whose messages begin with the query and the batch.
 *
 * Spark does so from 4.2 on, in a class of its own for such task sets, which a placed one is not; its settings count.
 */
final class TaskSetLog implements InvocationHandler {
    private static final String ENABLED = "spark.scheduler.streaming.idAwareLogging.enabled";
    private static final String LENGTH = "spark.scheduler.streaming.idAwareLogging.queryIdLength";

    private final Logger log;
    private final String prefix;

    private TaskSetLog(Logger log, String prefix) {
        this.log = log;
        this.prefix = prefix;
    }

    /** The log of a task set with these properties: the same one, if no query is named. */
    static Logger of(Logger log, Properties properties, SparkConf conf) {
        String query = properties == null ? null : properties.getProperty("sql.streaming.queryId");
        if (query == null || !conf.getBoolean(ENABLED, true)) {
            return log;
        }
        int length = conf.getInt(LENGTH, 5);
        String name = length < 0 ? query : query.substring(0, Math.min(length, query.length()));
        String batch = properties.getProperty("streaming.sql.batchId");
        String prefix = "[queryId = " + name + "] " + (batch == null ? "" : "[batchId = " + batch + "] ");
        return (Logger) Proxy.newProxyInstance(
            Logger.class.getClassLoader(), new Class[] {Logger.class}, new TaskSetLog(log, prefix));
    }

    /** Messages are the first text of a call, behind a marker if there is one. */
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        int at = arguments != null && arguments[0] instanceof Marker ? 1 : 0;
        if (arguments != null && at < arguments.length && arguments[at] instanceof String) {
            arguments[at] = prefix + arguments[at];
        }
        try {
            return method.invoke(log, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }
}
