package headworks.storm.seats;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/**
 * The emission side of one physical task: to whom it sends what is for a logical task. Choosing and sending happen under the
 * lock of this object, so that a task that emits from several threads learns of a move between two of its emissions.
 */
public final class Emission {
    private final int task;
    private final TaskIds ids;
    private final Owners owners;
    private final Map<String, View> views = new HashMap<>();
    private final List<Integer> fixed;
    private volatile long version;
    private Departure departure = (component, index, from, epoch) -> { };

    /**
     * Begin with who owns what now.
     *
     * @param task physical id
     * @param ids of the topology
     * @param owners of the tasks, which change
     * @param targets components with seats to which this task emits
     * @param fixed physical tasks without seats to which it emits
     */
    Emission(int task, TaskIds ids, Owners owners, Collection<String> targets, List<Integer> fixed) {
        this.task = task;
        this.ids = ids;
        this.owners = owners;
        this.fixed = fixed;
        version = owners.version();
        targets.forEach(id -> views.put(id, new View(owners.table(id))));
    }

    /** Its physical id. */
    public int task() {
        return task;
    }

    /** Who is told, under the lock, that from now on tuples for a task take another way. */
    public synchronized void onDeparture(Departure told) {
        departure = told;
    }

    /** Learn of moves, if there are any; a task that does not emit calls it from time to time. */
    public void poll() {
        if (owners.version() != version) {
            synchronized (this) {
                current();
            }
        }
    }

    /** Learn of moves, if there are any; under the lock, before each emission. */
    void current() {
        long now = owners.version();
        if (now != version) {
            version = now;
            views.forEach(this::learn);
        }
    }

    private void learn(String component, View view) {
        Table after = owners.table(component);
        for (int index : after.since(view.table)) {
            departure.left(component, index, view.table.seat(index), after.epoch(index));
        }
        view.learn(after);
    }

    /** Do something for each task to which this one emits, under the lock. */
    synchronized void each(IntConsumer act) {
        current();
        fixed.forEach(act::accept);
        views.values().forEach(view -> view.tasks.forEach(act::accept));
    }

    /** The physical task that a logical one lives in, as this emitter knows. */
    int physical(int plain) {
        View view = views.get(ids.component(plain));
        if (view == null) {
            int fixed = ids.fixed(plain);
            return fixed == -1 ? Integer.MAX_VALUE : fixed; // which no task has: Storm drops what is for none
        }
        return view.tasks.get(plain - ids.seats(ids.component(plain)).plain);
    }

    /** What this emitter knows of one component with seats, to which it emits. */
    View view(String component) {
        return views.get(component);
    }

    /** What this emitter knows of the owners of one component; under the lock, but for readers of {@code tasks}. */
    static final class View {
        /** Physical ids of the owners, in the order of the logical tasks; replaced as a whole. */
        volatile List<Integer> tasks;
        /** Those of them that are given what is dealt evenly. */
        volatile List<Integer> working;
        private Table table;

        View(Table table) {
            learn(table);
        }

        private void learn(Table newer) {
            table = newer;
            List<Integer> owners = newer.list();
            working = owners.subList(0, newer.working());
            tasks = owners;
        }
    }

    /** What is done when an emitter learns that a task has moved, before it emits anything the new way. */
    public interface Departure {
        /**
         * A task has moved.
         *
         * @param component its component
         * @param index its index there
         * @param from physical id of its seat until now
         * @param epoch of its new owner
         */
        void left(String component, int index, int from, long epoch);
    }
}
