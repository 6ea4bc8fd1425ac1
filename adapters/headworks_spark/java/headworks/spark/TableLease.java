package headworks.spark;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The right of a holder to have the table of a scope obeyed: until a time, and for the jobs of one group alone.
 *
 * A table without a lease is obeyed until it is removed. The one of a lease that is not renewed is removed: nobody is
 * there who would plan again.
 */
public final class TableLease {
    private static final Map<String, TableLease> LEASES = new ConcurrentHashMap<String, TableLease>();

    private final String holder;
    /** The job group, which of a query is its run, and so not that of a later start from its checkpoint; null is any. */
    private final String group;
    private final long end;

    private TableLease(String holder, String group, long millis) {
        this.holder = holder;
        this.group = group;
        this.end = System.nanoTime() + millis * 1000000L;
    }

    /** Lease the table of a scope that has just been put there, in place of whoever had it. */
    public static void grant(String scope, String holder, String group, long millis) {
        LEASES.put(scope, new TableLease(holder, group, millis));
    }

    /** Put off the end; false if the lease has ended meanwhile, or is somebody else's. */
    public static boolean renew(String scope, String holder, long millis) {
        TableLease lease = (TableLease) LEASES.get(scope);
        return lease != null && lease.holder.equals(holder) && !lapsed(scope, lease)
            && LEASES.replace(scope, lease, new TableLease(holder, lease.group, millis));
    }

    /** Remove the lease of a holder and its table. */
    public static void drop(String scope, String holder) {
        TableLease lease = (TableLease) LEASES.get(scope);
        if (lease != null && lease.holder.equals(holder)) {
            remove(scope, lease);
        }
    }

    /** Remove the table of a scope, whoever has it. */
    public static void clear(String scope) {
        LEASES.remove(scope);
        PlacementTable.replace(scope, "");
    }

    /** True unless the table of a scope has lapsed, or is another group's; a null group asks for none. */
    public static boolean holds(String scope, String group) {
        TableLease lease = (TableLease) LEASES.get(scope);
        return lease == null || !lapsed(scope, lease) && (lease.group == null || lease.group.equals(group));
    }

    private static boolean lapsed(String scope, TableLease lease) {
        boolean over = System.nanoTime() - lease.end > 0;
        if (over) {
            remove(scope, lease);
        }
        return over;
    }

    private static void remove(String scope, TableLease lease) {
        if (LEASES.remove(scope, lease)) {
            PlacementTable.replace(scope, "");
        }
    }
}
