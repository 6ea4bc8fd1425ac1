package headworks.spark;

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
    private static final String HELD = "!";
    private static final Map<String, Map<String, String>> SCOPES =
        new ConcurrentHashMap<String, Map<String, String>>();

    private PlacementTable() {
    }

    /**
     * Replace the table of a scope by lines of "stage partition host"; no line removes the table. A line "#stage
     * SIGNATURE" says which stage is meant (`StageSignature.text`): another one in its place is left to Spark. The line
     * "! held" alone has each stage of the scope wait before it begins.
     */
    public static void replace(String scope, String lines) {
        if (lines.isEmpty()) {
            SCOPES.remove(scope);
            PlacementCounts.forget(scope);
            return;
        }
        Map<String, String> table = new HashMap<String, String>();
        String[] rows = lines.split("\n");
        for (int i = 0; i < rows.length; i++) {
            int end = rows[i].startsWith("#") ? rows[i].indexOf(' ') : rows[i].lastIndexOf(' ');
            table.put(rows[i].substring(0, end), rows[i].substring(end + 1));
        }
        SCOPES.put(scope, table);
    }

    /** The places of a scope, as `replace` takes them, in no order. */
    public static String read(String scope) {
        StringBuilder lines = new StringBuilder();
        Iterator<?> rows = of(scope).entrySet().iterator();
        while (rows.hasNext()) {
            Map.Entry<?, ?> row = (Map.Entry<?, ?>) rows.next();
            String key = (String) row.getKey();
            if (!key.startsWith("#") && !key.equals(HELD)) {
                lines.append(key).append(' ').append(row.getValue()).append('\n');
            }
        }
        return lines.toString();
    }

    /** The table of a scope, which is another object after each change; null if it has none. */
    static Object table(String scope) {
        return SCOPES.get(scope);
    }

    /** The number of scopes that have one. */
    static int scopes() {
        return SCOPES.size();
    }

    static boolean has(String scope) {
        return scope != null && SCOPES.containsKey(scope);
    }

    /** True if the stages of a scope wait until another table takes the place of this one. */
    public static boolean held(String scope) {
        return of(scope).containsKey(HELD);
    }

    static String host(String scope, int stage, int partition) {
        return (String) of(scope).get(stage + " " + partition);
    }

    /** The signature that was planned for a stage; null if any will do. */
    static String signature(String scope, int stage) {
        return (String) of(scope).get("#" + stage);
    }

    /** True if a stage is known for sure, and is the one that the table means. */
    static boolean fits(String scope, StageSignature found) {
        String planned = signature(scope, found.ordinal);
        return found.ordinal >= 0 && !found.isAdaptive && (planned == null || planned.equals(found.text));
    }

    private static Map<String, String> of(String scope) {
        Map<String, String> table = (Map<String, String>) SCOPES.get(scope);
        return table == null ? Collections.<String, String>emptyMap() : table;
    }
}
