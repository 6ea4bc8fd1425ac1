package headworks.storm;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** An answer, read and typed; whether it fits the cluster is for {@link Check}. */
final class Answer {
    /** What Nimbus is to do. */
    enum Mode {
        /** Make the topologies that are named look as the answer says. */
        ASSIGN,
        /** Let Storm's own scheduler act as if Headworks were not there. */
        OWN,
        /** Keep what runs. */
        HOLD
    }

    /** One wanted worker: its slot, and the executors in it as they were listed. */
    static final class Worker {
        final WorkerSlot slot;
        final List<ExecutorDetails> executors;

        Worker(WorkerSlot slot, List<ExecutorDetails> executors) {
            this.slot = slot;
            this.executors = executors;
        }
    }

    final String nimbus;
    final long round;
    final Mode mode;
    final String reason;
    /** The whole wanted assignment of each topology that may change, by id. */
    final Map<String, List<Worker>> topologies;
    final Map<String, String> status;
    /** Topologies whose executors Storm's own scheduler may place, where the answer leaves some without a slot. */
    final Set<String> lastResort;

    private Answer(JsonNode json) {
        require(json.path("v").asInt() == Snapshot.VERSION, "it is not of version " + Snapshot.VERSION);
        nimbus = text(json.path("nimbus"), "nimbus");
        round = number(json.path("round"), "round");
        mode = mode(text(json.path("mode"), "mode"));
        reason = json.path("reason").asText("no reason given");
        topologies = new LinkedHashMap<>();
        fields(json, "topologies").forEach(field -> topologies.put(field.getKey(), workers(field.getValue())));
        status = new LinkedHashMap<>();
        fields(json, "status").forEach(
            field -> status.put(field.getKey(), text(field.getValue(), "status of " + field.getKey())));
        lastResort = new LinkedHashSet<>();
        JsonNode named = json.path("last_resort");
        require(named.isArray() || named.isMissingNode(), "last_resort is no list");
        named.forEach(each -> lastResort.add(text(each, "topology of last_resort")));
    }

    private Answer(Answer whole, Map<String, String> refused) {
        nimbus = whole.nimbus;
        round = whole.round;
        mode = whole.mode;
        reason = whole.reason;
        topologies = new LinkedHashMap<>(whole.topologies);
        topologies.keySet().removeAll(refused.keySet());
        status = new LinkedHashMap<>(whole.status);
        status.putAll(refused);
        lastResort = new LinkedHashSet<>(whole.lastResort);
        lastResort.addAll(refused.keySet());
    }

    /** The same without some topologies, each of which stays as it is for the reason that is given, by id. */
    Answer without(Map<String, String> refused) {
        return refused.isEmpty() ? this : new Answer(this, refused);
    }

    /**
     * Read an answer.
     *
     * @throws NoPlan it is no JSON, or a part is missing or of another type
     */
    static Answer parse(String text) {
        require(text != null, "it is null");
        try {
            JsonNode json = Json.MAPPER.readTree(text);
            require(json.isObject(), "it is no JSON object");
            return new Answer(json);
        } catch (JsonProcessingException e) {
            throw NoPlan.refused("it is no JSON document");
        }
    }

    private static Mode mode(String word) {
        switch (word) {
            case "assign": return Mode.ASSIGN;
            case "own": return Mode.OWN;
            case "hold": return Mode.HOLD;
            default: throw NoPlan.refused("its mode is none of assign, own and hold");
        }
    }

    private static Set<Map.Entry<String, JsonNode>> fields(JsonNode json, String name) {
        JsonNode part = json.path(name);
        require(part.isObject() || part.isMissingNode(), name + " is no object");
        return part.properties();
    }

    private static List<Worker> workers(JsonNode json) {
        require(json.isArray(), "the workers of a topology are no list");
        List<Worker> workers = new ArrayList<>();
        for (JsonNode worker : json) {
            require(worker.isArray() && worker.size() == 3, "a worker is not [supervisor, port, executors]");
            String supervisor = text(worker.get(0), "supervisor");
            WorkerSlot slot = new WorkerSlot(supervisor, number(worker.get(1), "port"));
            workers.add(new Worker(slot, executors(worker.get(2))));
        }
        return workers;
    }

    private static List<ExecutorDetails> executors(JsonNode json) {
        require(json.isArray() && !json.isEmpty() && json.size() % 2 == 0,
            "the executors of a worker are not a list of starts and ends");
        List<ExecutorDetails> executors = new ArrayList<>(json.size() / 2);
        for (int i = 0; i < json.size(); i += 2) {
            executors.add(new ExecutorDetails(number(json.get(i), "task"), number(json.get(i + 1), "task")));
        }
        return executors;
    }

    private static String text(JsonNode json, String name) {
        require(json.isTextual(), name + " is no text");
        return json.textValue();
    }

    private static int number(JsonNode json, String name) {
        require(json.isIntegralNumber() && json.canConvertToInt(), name + " is no whole number");
        return json.intValue();
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw NoPlan.refused(otherwise);
        }
    }
}
