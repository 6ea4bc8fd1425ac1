package headworks.storm;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** One topology of a round: its components with their executors, and the slots that Nimbus says these run in. */
final class SnapshotTopology {
    private static final int DEFAULT_PRIORITY = 29;
    private static final Set<String> SHARED =
        Set.of("topology.ras.constraints", "topology.spread.components", "topology.worker.timeout.secs",
            "topology.scheduler.favored.nodes", "topology.scheduler.unfavored.nodes",
            "topology.ras.one.executor.per.worker", "topology.ras.one.component.per.worker");
    static final Comparator<ExecutorDetails> BY_TASK =
        Comparator.comparingInt(ExecutorDetails::getStartTask).thenComparingInt(ExecutorDetails::getEndTask);

    private final JsonGenerator json;
    private final TopologyDetails topology;
    private final Map<ExecutorDetails, WorkerSlot> running;
    private final Map<String, List<ExecutorDetails>> components = new TreeMap<>();

    SnapshotTopology(JsonGenerator json, TopologyDetails topology, SchedulerAssignment assignment) {
        this.json = json;
        this.topology = topology;
        this.running = assignment == null ? Map.of() : assignment.getExecutorToSlot();
        topology.getComponentToExecutors().forEach((component, executors) -> {
            List<ExecutorDetails> ordered = new ArrayList<>(executors);
            ordered.sort(BY_TASK);
            components.put(component, ordered);
        });
    }

    void write() throws IOException {
        json.writeStartObject();
        json.writeStringField("id", topology.getId());
        json.writeStringField("name", topology.getName());
        json.writeStringField("owner", topology.getTopologySubmitter());
        json.writeNumberField("priority", priority(topology));
        json.writeNumberField("workers", topology.getNumWorkers());
        json.writeObjectField("heap", topology.getTopologyWorkerMaxHeapSize());
        json.writeObjectField("conf", shared(topology.getConf()));
        if (!topology.getSharedMemoryRequests(topology.getExecutors()).isEmpty()) {
            json.writeBooleanField("shares_memory", true);
        }
        json.writeArrayFieldStart("components");
        for (Map.Entry<String, List<ExecutorDetails>> component : components.entrySet()) {
            component(component.getKey(), component.getValue());
        }
        json.writeEndArray();
        assignment();
        json.writeEndObject();
    }

    /** Lower is more important. */
    static int priority(TopologyDetails topology) {
        Object priority = topology.getConf().get(Config.TOPOLOGY_PRIORITY);
        return priority instanceof Number ? ((Number) priority).intValue() : DEFAULT_PRIORITY;
    }

    /** The part of a topology's configuration that schedulers read; the rest is long and may hold secrets. */
    private static Map<String, Object> shared(Map<String, Object> conf) {
        Map<String, Object> part = new TreeMap<>(conf);
        part.keySet().removeIf(key -> !isShared(key));
        Bounded bounded = new Bounded();
        part.replaceAll((key, value) -> bounded.value(value));
        return part;
    }

    private static boolean isShared(String key) {
        return SHARED.contains(key)
            || key.startsWith("topology.component.")
            || key.startsWith("topology.headworks.")
            || key.startsWith("headworks.") && !key.contains("token");
    }

    private void component(String id, List<ExecutorDetails> executors) throws IOException {
        StormTopology graph = topology.getTopology();
        boolean spout = graph.get_spouts() != null && graph.get_spouts().containsKey(id);
        boolean bolt = graph.get_bolts() != null && graph.get_bolts().containsKey(id);
        json.writeStartObject();
        json.writeStringField("id", id);
        json.writeStringField("type", spout ? "spout" : bolt ? "bolt" : "system");
        json.writeObjectField("resources",
            new TreeMap<>(topology.getTotalResources(executors.get(0)).toNormalizedMap()));
        json.writeArrayFieldStart("executors");
        for (ExecutorDetails executor : executors) {
            json.writeNumber(executor.getStartTask());
            json.writeNumber(executor.getEndTask());
        }
        json.writeEndArray();
        json.writeArrayFieldStart("inputs");
        if (spout || bolt) {
            inputs(spout ? graph.get_spouts().get(id).get_common() : graph.get_bolts().get(id).get_common());
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void inputs(ComponentCommon component) throws IOException {
        for (Map.Entry<GlobalStreamId, Grouping> input : new TreeMap<>(component.get_inputs()).entrySet()) {
            json.writeStartArray();
            json.writeString(input.getKey().get_componentId());
            json.writeString(input.getKey().get_streamId());
            json.writeString(word(input.getValue()));
            json.writeEndArray();
        }
    }

    /**
     * A fields grouping without fields is Storm's global grouping. Shuffle that minds the load, as by default, sends to
     * tasks of its own worker while there are any that keep up.
     */
    private String word(Grouping grouping) {
        switch (grouping.getSetField()) {
            case SHUFFLE: return mindsLoad() ? "local-or-shuffle" : "shuffle";
            case FIELDS: return grouping.get_fields().isEmpty() ? "global" : "fields";
            case LOCAL_OR_SHUFFLE: return "local-or-shuffle";
            case CUSTOM_OBJECT:
            case CUSTOM_SERIALIZED: return "custom";
            default: return grouping.getSetField().getFieldName();
        }
    }

    private boolean mindsLoad() {
        return !Boolean.TRUE.equals(topology.getConf().get(Config.TOPOLOGY_DISABLE_LOADAWARE_MESSAGING));
    }

    private void assignment() throws IOException {
        Map<WorkerSlot, Integer> slots = new LinkedHashMap<>();
        List<Integer> places = new ArrayList<>();
        for (List<ExecutorDetails> executors : components.values()) {
            for (ExecutorDetails executor : executors) {
                WorkerSlot slot = running.get(executor);
                places.add(slot == null ? -1 : slots.computeIfAbsent(slot, key -> slots.size()));
            }
        }
        json.writeArrayFieldStart("slots");
        for (WorkerSlot slot : slots.keySet()) {
            json.writeStartArray();
            json.writeString(slot.getNodeId());
            json.writeNumber(slot.getPort());
            json.writeEndArray();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("assignment");
        for (int place : places) {
            json.writeNumber(place);
        }
        json.writeEndArray();
    }
}
