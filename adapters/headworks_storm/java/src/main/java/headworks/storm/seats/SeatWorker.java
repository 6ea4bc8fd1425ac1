package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import headworks.storm.monitor.WorkerTallies;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.InvalidTopologyException;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.ObjectReader;
import org.apache.storm.utils.ThriftTopologyUtils;
import org.apache.storm.utils.Utils;

/** All that the components of one worker share: the topology without seats, the ids of both, and who lives where. */
public final class SeatWorker {
    /** Key of a topology's configuration: whole seconds that a tuple waits for a marker. */
    private static final String PATIENCE = "headworks.seats.patience.secs";
    private static final int USUAL_PATIENCE = 1;
    /** By topology and port: in a local cluster workers share a process. */
    private static final Map<String, SeatWorker> WORKERS = new ConcurrentHashMap<>();

    /** Logical and physical ids. */
    public final TaskIds ids;
    /** Which components have seats. */
    public final Seating seating;
    /** Bounds on waiting. */
    final Limits limits;
    /** The topology as its user built it. */
    final StormTopology topology;
    /** The context of a worker without seats, with Storm's own components. */
    final LogicalContext context;
    /** Logical ids by component, sorted. */
    final Map<String, List<Integer>> tasks = new HashMap<>();
    /** Component by logical id. */
    final Map<Integer, String> components;
    /** Fields by component and stream. */
    final Map<String, Map<String, Fields>> fields = new HashMap<>();
    private final Map<String, Object> defaults;
    private final Map<Integer, Emission> emissions = new ConcurrentHashMap<>();
    private final Set<SeatSpout> spouts = ConcurrentHashMap.newKeySet();
    private volatile Owners owners;
    private volatile WorkerTallies tallies;
    private volatile BiFunction<SeatBolt, Integer, Arrivals> arrivals = Arrivals::executed;

    private SeatWorker(WorkerTopologyContext physical) {
        Map<String, Object> conf = physical.getConf();
        seating = Seating.of(conf);
        limits = Limits.patient(ObjectReader.getInt(conf.get(PATIENCE), USUAL_PATIENCE));
        defaults = Utils.readStormConfig();
        topology = Original.of(physical.getRawTopology());
        Map<String, Object> plain = plain(conf);
        StormTopology system;
        try {
            system = StormCommon.systemTopology(plain, topology);
            components = Collections.unmodifiableMap(new TreeMap<>(StormCommon.stormTaskInfo(topology, plain)));
        } catch (InvalidTopologyException invalid) {
            throw new IllegalStateException(invalid);
        }
        components.forEach((id, component) -> tasks.computeIfAbsent(component, any -> new ArrayList<>()).add(id));
        for (String id : ThriftTopologyUtils.getComponentIds(system)) {
            Map<String, Fields> streams = fields.computeIfAbsent(id, any -> new HashMap<>());
            ThriftTopologyUtils.getComponentCommon(system, id).get_streams()
                .forEach((stream, info) -> streams.put(stream, new Fields(info.get_output_fields())));
        }
        ids = new TaskIds(seating, physical.getTaskToComponent(), components);
        owners = Owners.homes(ids);
        context = new LogicalContext(this, system, plain, physical);
    }

    /** The one of the worker with this context. */
    public static SeatWorker of(WorkerTopologyContext physical) {
        String key = physical.getStormId() + "-" + physical.getThisWorkerPort();
        return WORKERS.computeIfAbsent(key, any -> new SeatWorker(physical));
    }

    /** Who lives where. */
    public Owners owners() {
        return owners;
    }

    /**
     * Let tasks move; before any component of the worker is made.
     *
     * @param told who lives where
     * @param made what becomes of the tuples that reach a seat, by the seat and its physical id
     */
    void follow(Owners told, BiFunction<SeatBolt, Integer, Arrivals> made) {
        owners = told;
        arrivals = made;
    }

    /**
     * Report what the tasks of the worker do, each seat by itself; before any component of it is made.
     *
     * @param conf of the worker
     * @param physical the context of the worker
     */
    WorkerTallies report(Map<String, Object> conf, WorkerTopologyContext physical) {
        tallies = new WorkerTallies(conf, physical);
        return tallies;
    }

    /** What a physical task counts, null if nobody asks for it. */
    Tally tally(int task) {
        return tallies == null ? null : tallies.of(task);
    }

    /** What becomes of the tuples that reach a seat. */
    Arrivals arrivals(SeatBolt seat, int task) {
        return arrivals.apply(seat, task);
    }

    /** A configuration as it would be without seats. */
    Map<String, Object> plain(Map<String, Object> conf) {
        return seating.without(conf, defaults);
    }

    /**
     * The emission side of a physical task of this worker.
     *
     * @param task its physical id
     */
    public Emission emission(int task) {
        return emissions.computeIfAbsent(task, id -> new Emission(id, ids, owners, targets(id, true), fixed(id)));
    }

    /** A spout is made. */
    void join(SeatSpout spout) {
        spouts.add(spout);
    }

    /** Let spouts that nobody asks for tuples learn of moves: seats wait for their markers. */
    void pollResting() {
        spouts.forEach(SeatSpout::pollResting);
    }

    /** Components to which a physical task emits, those with seats or those without. */
    private List<String> targets(int task, boolean seats) {
        List<String> targets = new ArrayList<>();
        context.getTargets(context.getComponentId(ids.logical(task))).values().forEach(each -> each.keySet().stream()
            .filter(id -> ids.seats(id) != null == seats && !targets.contains(id)).forEach(targets::add));
        return targets;
    }

    /** Physical tasks without seats to which a physical task emits; Storm's own are left out. */
    private List<Integer> fixed(int task) {
        List<Integer> fixed = new ArrayList<>();
        targets(task, false).stream().filter(topology.get_bolts()::containsKey)
            .forEach(id -> tasks.get(id).forEach(plain -> fixed.add(ids.fixed(plain))));
        return fixed;
    }

    /** Logical tasks that live in this worker now, and Storm's own. */
    List<Integer> here(List<Integer> physical) {
        List<Integer> here = new ArrayList<>(physical.size());
        for (int task : physical) {
            if (task < 0 || lives(task)) {
                here.add(ids.logical(task));
            }
        }
        return here;
    }

    /** Whether a logical task lives in this physical one; one without seats always does. */
    boolean lives(int physical) {
        TaskIds.Seats seats = ids.seats(context.getComponentId(ids.logical(physical)));
        return seats == null || owners.table(context.getComponentId(ids.logical(physical))).seat(seats.index(physical))
            == physical;
    }

    /** The physical task that a logical one lives in now. */
    int physical(int plain) {
        int fixed = ids.fixed(plain);
        if (fixed != -1 || ids.component(plain) == null) {
            return fixed;
        }
        TaskIds.Seats seats = ids.seats(ids.component(plain));
        int index = plain - seats.plain;
        return owners.table(ids.component(plain)).seat(index);
    }
}
