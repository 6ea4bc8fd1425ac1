package headworks.spark.connect;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.Option;
import scala.collection.Iterator;

/**
 * Trigger and physical plan of a streaming query, whose operators that read a source have numbers.
 *
 * Packages of the classes that run queries differ among releases of Spark 4, and their methods do not: these are looked
 * up by name.
 */
final class QueryFacts {
    private static final String SCAN = "MicroBatchScanExec";

    private QueryFacts() {
    }

    static Object[] trigger(StreamingQuery query) throws Exception {
        if (query == null) {
            return new Object[] {"", Long.valueOf(0)};
        }
        Object trigger = get(get(query, "streamingQuery"), "trigger");
        String kind = trigger.getClass().getSimpleName().replace("$", "");
        String length = kind.equals("RealTimeTrigger") ? "batchDurationMs" : "intervalMs";
        boolean timed = kind.equals("ProcessingTimeTrigger") || kind.equals("ContinuousTrigger")
            || kind.equals("RealTimeTrigger");
        return new Object[] {kind, timed ? get(trigger, length) : (Object) Long.valueOf(0)};
    }

    static Map<String, Object> plan(StreamingQuery query) throws Exception {
        return plan(query, new ArrayList<Object>());
    }

    /** The operator of the last plan that reads a source and has this number; null if there is none. */
    static Object scan(StreamingQuery query, int number) throws Exception {
        List<Object> scans = new ArrayList<Object>();
        plan(query, scans);
        return number < scans.size() ? scans.get(number) : null;
    }

    private static Map<String, Object> plan(StreamingQuery query, List<Object> scans) throws Exception {
        Object execution = query == null ? null : get(get(query, "streamingQuery"), "lastExecution");
        return execution == null ? null : node(get(execution, "executedPlan"), scans);
    }

    private static Map<String, Object> node(Object plan, List<Object> scans) throws Exception {
        List<Object> children = new ArrayList<Object>();
        Iterator<?> all = ((scala.collection.Iterable<?>) get(plan, "children")).iterator();
        while (all.hasNext()) {
            children.add(node(all.next(), scans));
        }
        Map<String, Object> found = new HashMap<String, Object>();
        found.put("name", plan.getClass().getSimpleName());
        found.put("children", children);
        found.put("state", state(plan));
        found.put("scan", null);
        if (plan.getClass().getSimpleName().equals(SCAN)) {
            found.put("scan", Integer.valueOf(scans.size()));
            scans.add(plan);
        }
        return found;
    }

    /** The number of an operator among those that keep or read state; null of others. */
    private static Object state(Object plan) throws Exception {
        if (!has(plan, "stateInfo")) {
            return null;
        }
        Option<?> info = (Option<?>) get(plan, "stateInfo");
        return info == null || info.isEmpty() ? null : get(info.get(), "operatorId");
    }

    private static boolean has(Object object, String name) {
        Method[] all = object.getClass().getMethods();
        boolean found = false;
        for (int i = 0; i < all.length; i++) {
            found |= all[i].getName().equals(name) && all[i].getParameterTypes().length == 0;
        }
        return found;
    }

    private static Object get(Object object, String name) throws Exception {
        Method method = object.getClass().getMethod(name, new Class<?>[0]);
        method.setAccessible(true);
        return method.invoke(object, new Object[0]);
    }
}
