package headworks.spark;

import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Tasks that were not run where a table asked for it, by scope and reason, since the scope has a table. */
public final class PlacementCounts {
    private static final Map<String, Map<String, AtomicLong>> SCOPES =
        new ConcurrentHashMap<String, Map<String, AtomicLong>>();

    private PlacementCounts() {
    }

    static void add(String scope, String reason, int tasks) {
        SCOPES.putIfAbsent(scope, new ConcurrentHashMap<String, AtomicLong>());
        Map<String, AtomicLong> reasons = (Map<String, AtomicLong>) SCOPES.get(scope);
        reasons.putIfAbsent(reason, new AtomicLong());
        ((AtomicLong) reasons.get(reason)).addAndGet(tasks);
        PlacementMetrics.left(reason, tasks);
    }

    static void forget(String scope) {
        SCOPES.remove(scope);
    }

    /** Lines of "reason tasks", in no order. */
    public static String read(String scope) {
        Map<String, AtomicLong> reasons = (Map<String, AtomicLong>) SCOPES.get(scope);
        StringBuilder lines = new StringBuilder();
        Iterator<?> all = (reasons == null ? Collections.emptyMap() : reasons).entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<?, ?> each = (Map.Entry<?, ?>) all.next();
            lines.append(each.getKey()).append(' ').append(each.getValue()).append('\n');
        }
        return lines.toString();
    }
}
