package headworks.storm.seats;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Which components of a topology have seats, as {@code headworks.seats} in its configuration says. */
public final class Seating {
    /** Key of the topology's configuration, written when the topology is rewritten. */
    public static final String KEY = "headworks.seats";
    /** Direct stream of each component with seats, and of those that emit to one: markers, state, passed-on tuples. */
    public static final String STREAM = "headworks";

    /** State of a component that keeps nothing from one tuple to the next. */
    static final String STATELESS = "stateless";

    private static final String WORKERS = "workers";
    private static final String COMPONENTS = "components";
    private static final String TASKS = "tasks";
    private static final String STATE = "state";
    private static final String ELASTIC = "elastic";
    private static final String WAS = "was";

    /** Seats of each task: one for each worker. */
    public final int workers;
    private final Map<String, Component> components;
    private final Map<String, Object> was;

    Seating(int workers, Map<String, Component> components, Map<String, Object> was) {
        this.workers = workers;
        this.components = components;
        this.was = was;
    }

    /** What the configuration of a topology says. */
    @SuppressWarnings("unchecked")
    static Seating of(Map<String, Object> conf) {
        Map<String, Object> said = (Map<String, Object>) conf.get(KEY);
        if (said == null) {
            throw new IllegalStateException("the topology has seats, but its configuration has no " + KEY);
        }
        Map<String, Component> components = new LinkedHashMap<>();
        ((Map<String, Map<String, Object>>) said.get(COMPONENTS)).forEach((id, each) ->
            components.put(id, new Component(((Number) each.get(TASKS)).intValue(), (String) each.get(STATE),
                Boolean.TRUE.equals(each.get(ELASTIC)))));
        return new Seating(((Number) said.get(WORKERS)).intValue(), components, (Map<String, Object>) said.get(WAS));
    }

    /** Plain data for the configuration. */
    Map<String, Object> told() {
        Map<String, Object> each = new LinkedHashMap<>();
        components.forEach((id, one) -> each.put(id, Map.of(TASKS, one.tasks, STATE, one.state, ELASTIC, one.elastic)));
        Map<String, Object> told = new LinkedHashMap<>();
        told.put(WORKERS, workers);
        told.put(COMPONENTS, each);
        told.put(WAS, was);
        return told;
    }

    /** Components with seats, by id. */
    public Map<String, Component> components() {
        return Collections.unmodifiableMap(components);
    }

    /**
     * The configuration as it would be without seats.
     *
     * @param conf of the topology, or of a component
     * @param defaults values of the keys that the topology had left alone
     */
    Map<String, Object> without(Map<String, Object> conf, Map<String, Object> defaults) {
        Map<String, Object> plain = new LinkedHashMap<>(conf);
        plain.keySet().removeIf(key -> key.startsWith(KEY));
        was.forEach((key, value) -> {
            Object before = value == null ? defaults.get(key) : value;
            if (before == null) {
                plain.remove(key);
            } else {
                plain.put(key, before);
            }
        });
        return plain;
    }

    /** A component whose tasks have seats. */
    public static final class Component {
        /** Logical tasks. */
        public final int tasks;
        /** What was said of its state: {@code stateless}, {@code movable}, or {@code fields:} and their names. */
        public final String state;
        /** Whether any number of the tasks can do the work of all: it keeps nothing, and tuples are dealt evenly. */
        public final boolean elastic;

        Component(int tasks, String state, boolean elastic) {
            this.tasks = tasks;
            this.state = state;
            this.elastic = elastic;
        }
    }
}
