package headworks.storm.seats;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.storm.Config;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metrics2.StormMetricRegistry;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.ServerUtils;
import org.apache.storm.utils.ThriftTopologyUtils;
import org.apache.storm.utils.Utils;

/** One worker of a topology, as Storm's own classes would make its contexts: with seats, or without. */
final class Seated {
    private static final String HERE = "here";
    private static final int PORT = 6700;
    private static int number;

    final StormTopology topology;
    final Map<String, Object> conf;
    final Map<Integer, String> components;
    final Map<String, List<Integer>> tasks = new HashMap<>();
    private final Map<String, Map<String, Fields>> fields = new HashMap<>();
    private final String id = "t-" + ++number;

    private Seated(StormTopology topology, Map<String, Object> conf) throws Exception {
        this.conf = conf;
        this.topology = topology;
        // as Nimbus does
        StormCommon.allComponents(topology).values().forEach(each -> {
            try {
                ComponentSettings.put(StormCommon.getComponentCommon(each),
                    Map.of(Config.TOPOLOGY_TASKS, ServerUtils.getComponentParallelism(conf, each)));
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        });
        components = new TreeMap<>(StormCommon.stormTaskInfo(topology, conf));
        components.forEach((task, component) -> tasks.computeIfAbsent(component, any -> new ArrayList<>()).add(task));
        StormTopology system = StormCommon.systemTopology(conf, topology);
        for (String each : ThriftTopologyUtils.getComponentIds(system)) {
            Map<String, Fields> streams = fields.computeIfAbsent(each, any -> new HashMap<>());
            ThriftTopologyUtils.getComponentCommon(system, each).get_streams()
                .forEach((stream, info) -> streams.put(stream, new Fields(info.get_output_fields())));
        }
    }

    static Seated plain(StormTopology topology, Map<String, Object> conf) throws Exception {
        Map<String, Object> merged = Utils.readStormConfig();
        merged.putAll(conf);
        return new Seated(topology.deepCopy(), merged);
    }

    static Seated seated(StormTopology topology, Map<String, Object> conf) throws Exception {
        StormTopology rewritten = topology.deepCopy();
        Map<String, Object> own = new HashMap<>(conf);
        Transform.apply(rewritten, own, Utils.readStormConfig());
        Map<String, Object> merged = Utils.readStormConfig();
        merged.putAll(own);
        return new Seated(rewritten, merged);
    }

    /** The context that groupings are prepared with; every task is in this worker. */
    WorkerTopologyContext worker() throws Exception {
        Map<Integer, NodeInfo> places = new HashMap<>();
        components.keySet().forEach(task -> places.put(task, new NodeInfo(HERE, java.util.Set.of((long) PORT))));
        return new WorkerTopologyContext(StormCommon.systemTopology(conf, topology), conf, components, tasks, fields, id,
            "/code", "/pids", PORT, new ArrayList<>(components.keySet()), new HashMap<>(), new HashMap<>(),
            new AtomicReference<>(places), HERE, new AtomicReference<>(Map.of(HERE, "localhost")));
    }

    /** The context of one of the components' tasks, as bolts and spouts are prepared with. */
    TopologyContext task(int task) {
        return task(task, new HashMap<>(), new AtomicBoolean(), new StormMetricRegistry());
    }

    /** The same, with what its executor has of metrics. */
    TopologyContext task(int task, Map<Integer, Map<Integer, Map<String, IMetric>>> metrics, AtomicBoolean begun,
            StormMetricRegistry registry) {
        return new TopologyContext(topology, conf, components, tasks, fields, new HashMap<>(), id, "/code", "/pids", task,
            PORT, new ArrayList<>(components.keySet()), new HashMap<>(), new HashMap<>(), new HashMap<>(), metrics, begun, registry);
    }
}
