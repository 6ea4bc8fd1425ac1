package headworks.spark;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Nodes that took no task of a scope for as long as one waits, batch after batch, as others keep them busy. After some
 * such batches in a row a node is left: its tasks wait no more, until the scope has another table.
 */
final class BusyNodes {
    /** Batches in a row: if more, each of them is held up by another wait; if fewer, a short burst of others counts. */
    private static final int MOST = 3;

    private Object table = null;
    private String batch = null;
    /** Batches in a row in which a node was busy; below zero while it was not yet in this one. */
    private final Map<String, Integer> rows = new HashMap<String, Integer>();

    /** Take notice of the batch, and of the table, that the next calls are about. */
    synchronized void begin(Object newTable, String newBatch) {
        if (newTable != table) {
            rows.clear();
        } else if (!newBatch.equals(batch)) {
            next();
        }
        table = newTable;
        batch = newBatch;
    }

    /** What was not busy in the batch that ends begins anew, but for a node that is left. */
    private void next() {
        Iterator<?> all = rows.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<String, Integer> each = (Map.Entry<String, Integer>) all.next();
            int row = ((Integer) each.getValue()).intValue();
            if (row < 0) {
                all.remove();
            } else if (row < MOST) {
                each.setValue(Integer.valueOf(-row));
            }
        }
    }

    /** A task waited there for too long; true if the node is left from now on. */
    synchronized boolean add(String node) {
        Integer row = (Integer) rows.get(node);
        if (row != null && row.intValue() > 0) {
            return false;
        }
        int now = row == null ? 1 : 1 - row.intValue();
        rows.put(node, Integer.valueOf(now));
        return now >= MOST;
    }

    synchronized boolean isLeft(String node) {
        Integer row = (Integer) rows.get(node);
        return row != null && row.intValue() >= MOST;
    }
}
