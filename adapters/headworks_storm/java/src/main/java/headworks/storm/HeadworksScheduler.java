package headworks.storm;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Storm's scheduler, planned by Headworks in a Python process: name this class as `storm.scheduler` on Nimbus.
 *
 * A round asks once. Without an answer that can be applied, running executors are held and Storm's own scheduler places
 * those that have no slot. Nothing that goes wrong here reaches Nimbus, which would exit.
 */
public final class HeadworksScheduler implements IScheduler {
    private static final Logger LOG = LoggerFactory.getLogger(HeadworksScheduler.class);

    /** Seconds after a round for which no other Nimbus can have led: an election takes longer. */
    private static final long LED = 15;

    private final Function<Settings, Planner> planners;
    private final Function<Map<String, Object>, WorkerSums.Stored> stored;
    private final String nimbus = UUID.randomUUID().toString();
    private final Status status = new Status();
    private WorkerSums sums = new WorkerSums(topologies -> Map.of(), 0);
    private Settings settings;
    private OwnScheduler own;
    private Fallback fallback;
    private Bridge bridge;
    private Meters meters;
    private long round;
    private boolean shadow;
    private String trouble = "";

    /** Create it as Nimbus does, by its name. */
    public HeadworksScheduler() {
        this(Python::new, StoredSums::new);
    }

    HeadworksScheduler(Function<Settings, Planner> planners) {
        this(planners, conf -> topologies -> Map.of());
    }

    private HeadworksScheduler(Function<Settings, Planner> planners, Function<Map<String, Object>, WorkerSums.Stored> stored) {
        this.planners = planners;
        this.stored = stored;
    }

    /** Get ready. Python is not contacted: standby Nimbuses are prepared too. */
    @Override
    public void prepare(Map<String, Object> conf, StormMetricsRegistry registry) {
        try {
            settings = Settings.of(conf);
            shadow = settings.shadow;
            // First what schedules without a plan: whatever fails after that, something still schedules.
            own = OwnScheduler.prepared(settings.own, conf, registry);
            fallback = new Fallback(own.standIn());
            meters = new Meters(registry);
            bridge = new Bridge(planner(), settings.timeout);
            sums = new WorkerSums(stored.apply(conf), TimeUnit.SECONDS.toNanos(LED));
        } catch (Throwable e) {
            log("Headworks cannot be prepared; every assignment is held", e);
        }
    }

    private Planner planner() {
        try {
            return planners.apply(settings);
        } catch (Throwable e) {
            log("Headworks's bridge cannot be prepared; no round will have a plan", e);
            NoPlan none = NoPlan.failed(e);
            return round -> {
                throw none;
            };
        }
    }

    /** Run one round. Interrupted, it leaves the cluster as it is. */
    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        try {
            meters.round.time(() -> round(topologies, cluster));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            log("A round failed; every assignment is held", e);
        }
    }

    /** Nothing: users have no guarantees here. Nimbus calls it on other threads, and wants a map. */
    @Override
    public Map<String, Map<String, Double>> config() {
        return Map.of();
    }

    @Override
    public void cleanup() {
        try {
            bridge.close();
            own.cleanup();
        } catch (Throwable e) {
            log("Headworks's bridge does not close", e);
        }
    }

    private Void round(Topologies topologies, Cluster cluster) throws InterruptedException {
        String trouble = plan(cluster);
        tell(trouble);
        if (shadow) {
            status.clear(cluster);
            own.schedule(topologies, cluster);
        } else if (!trouble.isEmpty()) {
            meters.held.mark();
            status.held(cluster, trouble, fallback.name(), fallback.place(cluster));
        }
        sums.keep(cluster);
        return null;
    }

    /** Ask, and do what the answer says; why that is not possible, or nothing. */
    private String plan(Cluster cluster) throws InterruptedException {
        try {
            round++;
            Answer whole = Answer.parse(bridge.ask(Snapshot.write(cluster, nimbus, round, settings.timeout)));
            Answer answer = Check.check(whole, cluster, nimbus, round);
            shadow = answer.mode == Answer.Mode.OWN;
            if (answer.mode == Answer.Mode.HOLD) {
                throw NoPlan.held(answer.reason);
            }
            if (answer.mode == Answer.Mode.ASSIGN) {
                LastResort resort = new LastResort(fallback, answer, cluster);
                meters.started.mark(Apply.apply(answer.topologies, cluster));
                meters.planned.mark();
                Map<String, Integer> placed = resort.place();
                status.planned(cluster, resort.said(), fallback.name(), placed);
            }
            return "";
        } catch (NoPlan reason) {
            return reason.getMessage();
        } catch (InterruptedException e) {
            throw e;
        } catch (Throwable e) {
            log("A round cannot be planned", e);
            return NoPlan.failed(e).getMessage();
        }
    }

    /** Log what is wrong when it begins, changes and ends, not in each round. */
    private void tell(String trouble) {
        if (!trouble.equals(this.trouble)) {
            LOG.warn("{}", trouble.isEmpty() ? "Headworks plans again" : trouble);
            this.trouble = trouble;
        }
    }

    private static void log(String what, Throwable error) {
        try {
            LOG.error(what, error);
        } catch (Throwable e) {
            // Not even a failing log may reach Nimbus.
        }
    }
}
