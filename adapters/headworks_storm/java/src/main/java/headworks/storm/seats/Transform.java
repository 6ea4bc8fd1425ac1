package headworks.storm.seats;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.utils.ObjectReader;
import org.apache.storm.utils.Utils;

/**
 * Rewrites a topology so that tasks of some of its bolts have a seat in each worker. Every component is wrapped, for all of
 * them are to see the tasks that they would see without; no class of the user is loaded.
 */
public final class Transform {
    /** Key of a topology's configuration: the state of each component that is to have seats. */
    public static final String MOVABLE = Requested.MOVABLE;

    private static final List<String> FIELDS = List.of("kind", "logical", "epoch", "source", "stream", "values");
    private static final String CHECKPOINTS = "$checkpointspout";

    private final StormTopology topology;
    private final Map<String, Object> conf;
    private final Map<String, Object> cluster;
    private final Requested requested;
    private final int workers;
    private final Map<String, Seating.Component> movable = new LinkedHashMap<>();
    private final List<String> notes = new ArrayList<>();

    private Transform(StormTopology topology, Map<String, Object> conf, Map<String, Object> cluster) {
        this.topology = topology;
        this.conf = conf;
        this.cluster = cluster;
        requested = Requested.of(conf);
        workers = ObjectReader.getInt(setting(Config.TOPOLOGY_WORKERS), 1);
    }

    /**
     * Rewrite a topology and its configuration in place, before Nimbus has them.
     *
     * @param topology as its user built it
     * @param conf its own settings, which say in {@code headworks.seats.movable} what has seats
     * @param cluster settings of the cluster, for what the topology leaves alone
     * @return a sentence for each bolt that has none
     * @throws Refusal if what is asked for cannot be had
     */
    public static List<String> apply(StormTopology topology, Map<String, Object> conf, Map<String, Object> cluster) {
        Transform transform = new Transform(topology, conf, cluster);
        transform.choose();
        if (!transform.movable.isEmpty()) {
            transform.rewrite();
        }
        return transform.notes;
    }

    private Object setting(String key) {
        return conf.get(key) == null ? cluster.get(key) : conf.get(key);
    }

    private void choose() {
        if (conf.containsKey(Seating.KEY)) {
            throw new Refusal("the topology has seats already: it was rewritten before");
        }
        requested.movable.keySet().forEach(id -> {
            if (!topology.get_bolts().containsKey(id)) {
                String those = String.join(", ", topology.get_bolts().keySet());
                throw new Refusal("there is no bolt " + id + ": those of the topology are " + those);
            }
        });
        topology.get_bolts().forEach(this::choose);
        if (!movable.isEmpty()) {
            Refusals.check(topology, this::setting);
            int seats = movable.values().stream().mapToInt(each -> each.tasks * workers).sum();
            if (seats > requested.most) {
                throw new Refusal("the tasks would have " + seats + " seats, and " + Requested.MOST + " is "
                    + requested.most + ": name fewer components, ask for fewer workers, or set it higher");
            }
        }
    }

    private void choose(String id, Bolt bolt) {
        Kinds kind = Kinds.of(bolt.get_bolt_object());
        String state = requested.movable.get(id);
        String unfit = topology.get_spouts().containsKey(CHECKPOINTS)
            ? "the topology has checkpoints, in which all of its bolts take part" : kind.unfit();
        if (state == null) {
            notes.add(unfit == null ? Refusals.undeclared(id, kind)
                : id + " (" + kind.simple() + ") stays where it is: " + unfit);
        } else if (unfit != null) {
            throw new Refusal(id + " (" + kind.simple() + ") cannot have seats: " + unfit);
        } else {
            boolean elastic = state.equals(Seating.STATELESS)
                && bolt.get_common().get_inputs().values().stream().allMatch(SeatGrouping::even);
            movable.put(id, new Seating.Component(tasks(bolt.get_common()), state, elastic));
        }
    }

    /** Tasks of a component, as Nimbus numbers them. */
    private int tasks(ComponentCommon common) {
        Map<String, Object> merged = new LinkedHashMap<>(ComponentSettings.of(common));
        int tasks = ObjectReader.getInt(
            or(merged.get(Config.TOPOLOGY_TASKS), setting(Config.TOPOLOGY_TASKS)), hint(common));
        Object most = or(merged.get(Config.TOPOLOGY_MAX_TASK_PARALLELISM), setting(Config.TOPOLOGY_MAX_TASK_PARALLELISM));
        return most == null ? tasks : Math.min(tasks, ObjectReader.getInt(most));
    }

    private static Object or(Object first, Object second) {
        return first == null ? second : first;
    }

    private static int hint(ComponentCommon common) {
        return common.is_set_parallelism_hint() ? common.get_parallelism_hint() : 1;
    }

    private void rewrite() {
        // What a component is told of the others is what was submitted: numbers of tasks first, for they are computed.
        StormCommon.allComponents(topology).values().forEach(each -> {
            ComponentCommon common = StormCommon.getComponentCommon(each);
            ComponentSettings.put(common, Map.of(Config.TOPOLOGY_TASKS, tasks(common)));
        });
        Map<String, Bolt> plain = new LinkedHashMap<>();
        topology.get_bolts().forEach((id, bolt) -> plain.put(id, bolt.deepCopy()));
        topology.get_spouts().values().forEach(this::wrap);
        topology.get_bolts().forEach(this::wrap);
        topology.get_bolts().forEach((id, bolt) -> subscribe(id, bolt, plain.get(id)));
        topology.add_to_worker_hooks(ByteBuffer.wrap(Utils.javaSerialize(new Agent())));
        configure();
    }

    private void wrap(SpoutSpec spout) {
        spout.set_spout_object(object(new SeatSpout(Utils.thriftSerialize(spout))));
    }

    private void wrap(String id, Bolt bolt) {
        byte[] spec = Utils.thriftSerialize(bolt);
        boolean seats = movable.containsKey(id);
        bolt.set_bolt_object(object(seats ? new SeatBolt(spec) : new PinnedBolt(spec)));
        if (seats) {
            multiply(bolt.get_common(), movable.get(id).tasks * workers);
        }
    }

    private static ComponentObject object(java.io.Serializable wrapped) {
        return ComponentObject.serialized_java(Utils.javaSerialize(wrapped));
    }

    private void multiply(ComponentCommon common, int seats) {
        common.set_parallelism_hint(seats);
        Map<String, Object> more = ComponentSettings.shared(common, this::setting, workers, requested.fit);
        more.put(Config.TOPOLOGY_TASKS, seats);
        if (setting(Config.TOPOLOGY_MAX_TASK_PARALLELISM) != null) {
            more.put(Config.TOPOLOGY_MAX_TASK_PARALLELISM, seats);
        }
        ComponentSettings.put(common, more);
    }

    /** Replace groupings, and join a component with seats to itself, and who emits to whom if one of them has seats. */
    private void subscribe(String id, Bolt bolt, Bolt plain) {
        boolean seats = movable.containsKey(id);
        plain.get_common().get_inputs().forEach((from, grouping) -> {
            if (!grouping.is_set_direct() && (seats || SeatGrouping.custom(grouping))) {
                byte[] other = Utils.javaSerialize(new SeatGrouping(grouping, id));
                bolt.get_common().put_to_inputs(from, Grouping.custom_serialized(other));
            }
            if (seats || movable.containsKey(from.get_componentId())) {
                join(from.get_componentId(), bolt);
            }
        });
        if (seats) {
            join(id, bolt);
        }
    }

    private void join(String source, Bolt bolt) {
        Object emitter = StormCommon.allComponents(topology).get(source);
        if (emitter != null) {
            StreamInfo stream = new StreamInfo(FIELDS, true);
            StormCommon.getComponentCommon(emitter).put_to_streams(Seating.STREAM, stream);
            Grouping direct = Grouping.direct(new NullStruct());
            bolt.get_common().put_to_inputs(new GlobalStreamId(source, Seating.STREAM), direct);
        }
    }

    private void configure() {
        Map<String, Object> was = new LinkedHashMap<>();
        Double heap = ObjectReader.getDouble(setting(Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB), null);
        if (heap != null) {
            change(was, Config.TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB, heap * Math.min(requested.fit, workers));
        }
        conf.put(SeatWait.DELEGATE, setting(Config.TOPOLOGY_BOLT_WAIT_STRATEGY));
        change(was, Config.TOPOLOGY_BOLT_WAIT_STRATEGY, SeatWait.class.getName());
        conf.put(Seating.KEY, new Seating(workers, movable, was).told());
    }

    private void change(Map<String, Object> was, String key, Object value) {
        was.put(key, conf.get(key));
        conf.put(key, value);
    }
}
