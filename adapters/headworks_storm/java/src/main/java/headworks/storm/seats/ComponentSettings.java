package headworks.storm.seats;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.storm.Config;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/** Settings of a component, which Thrift carries as JSON. */
final class ComponentSettings {
    private static final String MAP = Config.TOPOLOGY_COMPONENT_RESOURCES_MAP;
    private static final Set<String> HEAP =
            Set.of(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, "onheap.memory.mb");
    private static final Set<String> SHARED = Set.of(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB,
            Config.TOPOLOGY_COMPONENT_RESOURCES_OFFHEAP_MEMORY_MB, Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT);

    private ComponentSettings() {
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> of(ComponentCommon common) {
        String json = common.get_json_conf();
        return json == null ? new LinkedHashMap<>() : (Map<String, Object>) JSONValue.parse(json);
    }

    static void put(ComponentCommon common, Map<String, Object> more) {
        Map<String, Object> merged = of(common);
        merged.putAll(more);
        common.set_json_conf(JSONValue.toJSONString(merged));
    }

    /**
     * What one seat asks for: all of a task's seats together what the task does, and heap times the fit.
     *
     * @param common of the component
     * @param settings of the topology, for what the component does not say
     * @param workers seats of a task
     * @param fit times its even share of the tasks that a worker may hold
     */
    static Map<String, Object> shared(
            ComponentCommon common, Function<String, Object> settings, int workers, double fit) {
        Map<String, Object> own = of(common);
        Map<String, Object> seat = new LinkedHashMap<>();
        Map<?, ?> named = own.get(MAP) instanceof Map ? (Map<?, ?>) own.get(MAP) : Map.of();
        if (!named.isEmpty()) {
            Map<String, Object> each = new LinkedHashMap<>();
            named.forEach((name, value) -> each.put(name.toString(), share(name.toString(), value, workers, fit)));
            seat.put(MAP, each);
        }
        for (String name : SHARED) {
            Object declared = own.get(name) == null && named.isEmpty() ? settings.apply(name) : own.get(name);
            if (declared != null) {
                seat.put(name, share(name, declared, workers, fit));
            }
        }
        return seat;
    }

    private static Object share(String name, Object value, int workers, double fit) {
        double times = HEAP.contains(name) ? Math.min(fit, workers) : 1;
        return value instanceof Number ? (Object) (((Number) value).doubleValue() * times / workers) : value;
    }
}
