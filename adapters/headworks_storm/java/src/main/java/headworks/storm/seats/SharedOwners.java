package headworks.storm.seats;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The owners that a worker has heard of, for all of its emitters. */
final class SharedOwners implements Owners {
    private final Map<String, Table> tables = new ConcurrentHashMap<>();
    private volatile long version;

    @Override
    public long version() {
        return version;
    }

    @Override
    public Table table(String component) {
        return tables.get(component);
    }

    /** Take what is newer in a table; by one thread alone. */
    boolean learn(String component, Table heard) {
        Table known = tables.get(component);
        Table merged = known == null ? heard : known.working(heard.working(), heard.order());
        for (int index = 0; index < heard.size(); index++) {
            merged = merged.with(index, heard.seat(index), heard.epoch(index));
        }
        if (merged == known) {
            return false;
        }
        tables.put(component, merged);
        version++;
        return true;
    }
}
