package headworks.storm.seats;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Logical and physical ids of tasks. Logical ones are those that the topology would have without seats, physical ones are
 * Storm's; with {@code W} workers the seat of task index {@code i} on host {@code h} is physical task
 * {@code first + i * W + h} of its component. Ids below 0 are Storm's own, and the same in both.
 */
public final class TaskIds {
    private final Map<String, Seats> seats = new HashMap<>();
    /** By physical id; boxed once. */
    private final Integer[] logical;
    /** By logical id: the physical one of a task without seats, else -1. */
    private final int[] fixed;
    /** By logical id. */
    private final String[] components;

    /**
     * Match the ids of a topology with seats to those of the same topology without.
     *
     * @param seating which components have seats
     * @param physical component by physical id
     * @param plain component by logical id
     */
    TaskIds(Seating seating, Map<Integer, String> physical, Map<Integer, String> plain) {
        logical = new Integer[1 + most(physical)];
        fixed = new int[1 + most(plain)];
        components = new String[fixed.length];
        Arrays.fill(fixed, -1);
        Map<String, List<Integer>> real = byComponent(physical);
        byComponent(plain).forEach((component, ids) -> {
            Seating.Component movable = seating.components().get(component);
            int each = movable == null ? 1 : seating.workers;
            List<Integer> tasks = real.getOrDefault(component, List.of());
            if (tasks.size() != each * ids.size()) {
                throw new IllegalStateException(component + " has " + tasks.size() + " tasks, and should have " + each
                    + " for each of " + ids.size());
            }
            for (int k = 0; k < tasks.size(); k++) {
                logical[tasks.get(k)] = ids.get(k / each);
            }
            for (int i = 0; i < ids.size(); i++) {
                components[ids.get(i)] = component;
                fixed[ids.get(i)] = movable == null ? tasks.get(i) : -1;
            }
            if (movable != null) {
                seats.put(component, new Seats(tasks.get(0), ids.get(0), ids.size(), seating.workers));
            }
        });
    }

    /** The logical id of a physical task. */
    public int logical(int physical) {
        return physical < 0 ? physical : logical[physical];
    }

    /** Replace physical ids by logical ones. */
    List<Integer> logical(List<Integer> physical) {
        // Storm makes a new ArrayList for each emission, and has done with it when it returns it.
        List<Integer> ids = physical instanceof ArrayList ? physical : new ArrayList<>(physical);
        for (int i = 0; i < ids.size(); i++) {
            int id = ids.get(i);
            ids.set(i, id < 0 ? (Integer) id : logical[id]);
        }
        return ids;
    }

    /** The physical id of a task without seats, -1 of one with seats. */
    int fixed(int plain) {
        return plain < 0 ? plain : plain < fixed.length ? fixed[plain] : -1;
    }

    /** The component of a logical task, null if there is no such task. */
    String component(int plain) {
        return plain >= 0 && plain < components.length ? components[plain] : null;
    }

    /** The seats of a component, null if it has none. */
    public Seats seats(String component) {
        return seats.get(component);
    }

    private static int most(Map<Integer, String> tasks) {
        return tasks.keySet().stream().max(Integer::compare).orElse(0);
    }

    private static Map<String, List<Integer>> byComponent(Map<Integer, String> tasks) {
        Map<String, List<Integer>> found = new HashMap<>();
        new TreeMap<>(tasks).forEach((id, component) -> {
            if (id >= 0) {
                found.computeIfAbsent(component, any -> new ArrayList<>()).add(id);
            }
        });
        return found;
    }

    /** The seats of one component. */
    public static final class Seats {
        /** First physical id. */
        public final int first;
        /** First logical id. */
        public final int plain;
        /** Logical tasks. */
        public final int tasks;
        /** Hosts: seats of each task. */
        public final int workers;

        Seats(int first, int plain, int tasks, int workers) {
            this.first = first;
            this.plain = plain;
            this.tasks = tasks;
            this.workers = workers;
        }

        /** Physical id of the seat of a task on a host. */
        public int physical(int index, int host) {
            return first + index * workers + host;
        }

        /** Physical ids of the seats of a task. */
        int[] all(int index) {
            return IntStream.range(0, workers).map(host -> physical(index, host)).toArray();
        }

        /** The seats in which tasks live before any was ever moved. */
        Table homes() {
            return Table.of(IntStream.range(0, tasks).map(index -> physical(index, home(index))).toArray());
        }

        /** Index of the task whose seat this physical one is. */
        public int index(int physical) {
            return (physical - first) / workers;
        }

        /** Host of this seat. */
        public int host(int physical) {
            return (physical - first) % workers;
        }

        /**
         * Host on which a task lives before it was ever moved: dealt as Storm's even scheduler deals executors, so that a
         * task begins in the slot in which it would be without seats.
         */
        public int home(int index) {
            return Math.floorMod(plain + index - first, workers);
        }
    }
}
