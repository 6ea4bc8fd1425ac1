package headworks.storm;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.DaemonConfig;
import org.apache.storm.networktopography.DefaultRackDNSToSwitchMapping;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;

/**
 * A round as JSON: the cluster as Nimbus sees it, in one compact string.
 *
 * Everything is in the order of its id, so that equal clusters give equal strings.
 */
final class Snapshot {
    static final int VERSION = 1;
    private static final String MACHINE = "headworks.machine.type";
    private static final String BANDWIDTH = "headworks.bandwidth";
    /** What the process beside Nimbus needs to know how long a plan may take, each in seconds. */
    private static final List<String> TIMES = List.of(
        DaemonConfig.NIMBUS_MONITOR_FREQ_SECS, DaemonConfig.NIMBUS_TASK_LAUNCH_SECS,
        DaemonConfig.NIMBUS_TASK_TIMEOUT_SECS, DaemonConfig.SUPERVISOR_WORKER_START_TIMEOUT_SECS);

    private final JsonGenerator json;
    private final Cluster cluster;

    private Snapshot(JsonGenerator json, Cluster cluster) {
        this.json = json;
        this.cluster = cluster;
    }

    /**
     * Write a round.
     *
     * @param nimbus  id of this Nimbus process
     * @param round   number of the round in this process
     * @param timeout milliseconds that Nimbus waits for the answer
     */
    static String write(Cluster cluster, String nimbus, long round, int timeout) throws IOException {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = Json.MAPPER.createGenerator(text)) {
            json.writeStartObject();
            json.writeNumberField("v", VERSION);
            json.writeStringField("nimbus", nimbus);
            json.writeNumberField("round", round);
            json.writeNumberField("timeout", timeout);
            // Executors without a slot may start on blacklisted hosts (see Check), which a jar of before refused.
            json.writeBooleanField("resort", true);
            new Snapshot(json, cluster).cluster();
            json.writeEndObject();
        }
        return text.toString();
    }

    private void cluster() throws IOException {
        Object isolation = cluster.getConf().get(DaemonConfig.ISOLATION_SCHEDULER_MACHINES);
        json.writeObjectField("isolation", isolation instanceof Map ? isolation : new TreeMap<>());
        json.writeObjectFieldStart("settings");
        for (String name : TIMES) {
            Object seconds = cluster.getConf().get(name);
            if (seconds instanceof Number) {
                json.writeNumberField(name, ((Number) seconds).intValue());
            }
        }
        json.writeEndObject();
        json.writeArrayFieldStart("supervisors");
        Map<String, String> racks = cluster.getHostToRack();
        for (SupervisorDetails supervisor : new TreeMap<>(cluster.getSupervisors()).values()) {
            supervisor(supervisor, racks);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("topologies");
        Map<String, TopologyDetails> topologies = new TreeMap<>();
        cluster.getTopologies().forEach(topology -> topologies.put(topology.getId(), topology));
        for (TopologyDetails topology : topologies.values()) {
            new SnapshotTopology(json, topology, cluster.getAssignmentById(topology.getId())).write();
        }
        json.writeEndArray();
    }

    private void supervisor(SupervisorDetails supervisor, Map<String, String> racks) throws IOException {
        String host = supervisor.getHost();
        json.writeStartObject();
        json.writeStringField("id", supervisor.getId());
        json.writeStringField("host", host);
        json.writeStringField("rack", racks.getOrDefault(host, DefaultRackDNSToSwitchMapping.DEFAULT_RACK));
        numbers("ports", new TreeSet<>(supervisor.getAllPorts()));
        json.writeObjectField("resources", new TreeMap<>(supervisor.getTotalResources().toNormalizedMap()));
        Map<String, Double> beside = Room.beside(cluster, supervisor);
        if (!beside.isEmpty()) {
            json.writeObjectField("beside", beside);
        }
        json.writeBooleanField("blacklisted", cluster.isBlacklistedHost(host));
        json.writeStringField("machine", said(supervisor, MACHINE));
        json.writeStringField("bandwidth", said(supervisor, BANDWIDTH));
        json.writeEndObject();
    }

    /** What the {@code supervisor.scheduler.meta} of a supervisor says of its machine; null if it does not. */
    private static String said(SupervisorDetails supervisor, String name) {
        Object meta = supervisor.getSchedulerMeta();
        Object value = meta instanceof Map ? ((Map<?, ?>) meta).get(name) : null;
        return value == null ? null : value.toString();
    }

    private void numbers(String name, Collection<Integer> values) throws IOException {
        json.writeArrayFieldStart(name);
        for (int value : values) {
            json.writeNumber(value);
        }
        json.writeEndArray();
    }
}
