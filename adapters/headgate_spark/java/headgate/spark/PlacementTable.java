package headgate.spark;

import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Where tasks are asked to run: the host of each (scope, stage ordinal, partition). Lives in the driver.
 *
 * A table is replaced as a whole, so that a stage never sees half of a change. Casts stand where javac would infer
 * types: Janino compiles this source too.
 */
public final class PlacementTable {
    private static final Map<String, Map<String, String>> SCOPES =
        new ConcurrentHashMap<String, Map<String, String>>();

    private PlacementTable() {
    }

    /** Replace the table of a scope by lines of "stage partition host"; no line removes the table. */
    public static void replace(String scope, String lines) {
        if (lines.isEmpty()) {
            SCOPES.remove(scope);
            return;
        }
        Map<String, String> table = new HashMap<String, String>();
        String[] rows = lines.split("\n");
        for (int i = 0; i < rows.length; i++) {
            int end = rows[i].lastIndexOf(' ');
            table.put(rows[i].substring(0, end), rows[i].substring(end + 1));
        }
        SCOPES.put(scope, table);
    }

    /** The table of a scope, as `replace` takes it, in no order. */
    public static String read(String scope) {
        StringBuilder lines = new StringBuilder();
        Iterator<?> rows = of(scope).entrySet().iterator();
        while (rows.hasNext()) {
            Map.Entry<?, ?> row = (Map.Entry<?, ?>) rows.next();
            lines.append(row.getKey()).append(' ').append(row.getValue()).append('\n');
        }
        return lines.toString();
    }

    static boolean has(String scope) {
        return scope != null && SCOPES.containsKey(scope);
    }

    static String host(String scope, int stage, int partition) {
        return (String) of(scope).get(stage + " " + partition);
    }

    private static Map<String, String> of(String scope) {
        Map<String, String> table = (Map<String, String>) SCOPES.get(scope);
        return table == null ? Collections.<String, String>emptyMap() : table;
    }
}
