package headworks.storm.seats;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.storm.Constants;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;

/** One seat: a physical task in which a logical one lives, or may come to live. Its bolt is made when it does. */
public final class SeatBolt implements IBolt, ICredentialsListener, Wrapped, SeatWait.Sleeper {
    private static final long serialVersionUID = 1L;

    private final byte[] spec;
    private transient Map<String, Object> conf;
    private transient TopologyContext context;
    private transient OutputCollector collector;
    private transient Map<String, String> credentials;
    private transient Resident resident;
    private transient Arrivals arrivals;
    private transient Thread thread;
    private transient volatile boolean awake;
    /** Bolts of tasks that moved away, until they have acknowledged all that they executed. */
    private transient List<Resident> leaving;

    /**
     * Take the place of a bolt.
     *
     * @param spec its serialised description
     */
    SeatBolt(byte[] spec) {
        this.spec = spec;
    }

    @Override
    public byte[] spec() {
        return spec;
    }

    @Override
    public void setCredentials(Map<String, String> fresh) {
        credentials = fresh;
        if (resident != null) {
            resident.credentials(fresh);
        }
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.conf = conf;
        this.context = context;
        this.collector = collector;
        thread = Thread.currentThread();
        leaving = new ArrayList<>();
        SeatWait.join(this);
        SeatMetrics.expect(context);
        SeatWorker worker = SeatWorker.of(context);
        SeatHandover.mark(worker.emission(context.getThisTaskId()), collector);
        arrivals = worker.arrivals(this, context.getThisTaskId());
        if (arrivals.owns()) {
            occupy();
        }
    }

    /** Ticks are also for bolts that have not acknowledged all. */
    @Override
    public void execute(Tuple tuple) {
        if (!Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
            arrivals.arrive((TupleImpl) tuple);
        } else {
            arrivals.tick((TupleImpl) tuple);
            for (Resident each : leaving) {
                each.execute((TupleImpl) tuple);
            }
        }
    }

    /** Make and prepare the bolt; on the thread of the executor, as all of this class. */
    void occupy() {
        awake = true;
        resident = Resident.prepared(spec, conf, context, collector, credentials);
    }

    /**
     * Find out, on a thread of its own, whether another instance of the bolt takes a state: it is prepared, given the state and
     * cleaned up.
     *
     * @param give gives it the state
     * @param answer told why not; null if it does, or cannot be prepared beside the one that lives here
     */
    void rehearse(Consumer<IBolt> give, Consumer<String> answer) {
        Map<String, String> shown = credentials;
        Thread trial = new Thread(() -> answer.accept(rehearsed(give, shown)), "headworks-trial");
        trial.setDaemon(true);
        trial.start();
    }

    private String rehearsed(Consumer<IBolt> give, Map<String, String> shown) {
        Resident other;
        try {
            other = Resident.apart(spec, conf, context, shown);
        } catch (RuntimeException | Error unprepared) {
            return null; // the other worker tells, if it is so there too
        }
        try {
            give.accept(other.bolt);
            return null;
        } catch (RuntimeException | Error failed) {
            return "its state (movable) can be written and not be read again: " + failed;
        } finally {
            other.end();
        }
    }

    /** Who lives here, null if nobody does. */
    Resident resident() {
        return resident;
    }

    /** The task lives elsewhere from now on; its bolt is cleaned up once it has acknowledged what it executed. */
    void leave() {
        resident.leave();
        leaving.add(resident);
        resident = null;
    }

    /** Clean up bolts that are done, and have the executor look for tuples if there is reason to. */
    void settle(boolean busy) {
        if (!leaving.isEmpty()) {
            leaving.removeIf(Resident::gone);
        }
        awake = busy || !leaving.isEmpty();
    }

    /** Have the executor look for tuples now; from any thread. */
    void unpark() {
        LockSupport.unpark(thread);
    }

    /** The executor has nothing to execute. */
    @Override
    public void idle() {
        if (arrivals != null) {
            arrivals.idle();
        }
    }

    /** Whether its executor looks for tuples. */
    @Override
    public boolean awake() {
        return awake;
    }

    /** The configuration of the physical task. */
    Map<String, Object> conf() {
        return conf;
    }

    /** The context of the physical task. */
    TopologyContext context() {
        return context;
    }

    /** The collector of the physical task. */
    OutputCollector collector() {
        return collector;
    }

    @Override
    public void cleanup() {
        if (resident != null) {
            resident.bolt.cleanup();
        }
        leaving.forEach(each -> each.bolt.cleanup());
    }
}
