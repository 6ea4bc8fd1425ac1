package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.Config;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.utils.ObjectReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A logical task where it lives: the user's bolt, prepared with what it would see without seats. */
final class Resident {
    private static final Logger LOG = LoggerFactory.getLogger(Resident.class);

    /** The user's own. */
    final IBolt bolt;
    private final SeatContext context;
    private final SeatWorker worker;
    /** Null where nothing is counted. */
    private final Tally tally;
    /** Tuples that it has executed, and neither acknowledged nor failed. */
    private final AtomicInteger pending = new AtomicInteger();
    private final long patience;
    private Census census;
    private long leftAt;

    private Resident(byte[] spec, SeatContext context, SeatWorker worker, Tally tally, long patience) {
        this.bolt = (IBolt) Wrapped.component(spec, false);
        this.context = context;
        this.worker = worker;
        this.tally = tally;
        this.patience = patience;
    }

    /**
     * Make and prepare a bolt, as Storm does.
     *
     * @param spec its serialised description
     * @param conf of the component, with seats
     * @param physical the context of the physical task
     * @param out the collector of the physical task
     * @param credentials those of the topology, null if it has none
     */
    static Resident prepared(byte[] spec, Map<String, Object> conf, TopologyContext physical, OutputCollector out,
            Map<String, String> credentials) {
        SeatWorker worker = SeatWorker.of(physical);
        int timeout = ObjectReader.getInt(conf.get(Config.TOPOLOGY_MESSAGE_TIMEOUT_SECS), 30);
        Tally tally = worker.tally(physical.getThisTaskId());
        SeatContext own = new SeatContext(worker, physical);
        Resident resident = new Resident(spec, own, worker, tally, TimeUnit.SECONDS.toNanos(timeout));
        Emission emission = worker.emission(physical.getThisTaskId());
        resident.prepare(conf, new SeatCollector(out, emission, worker.ids, resident.pending, tally), credentials);
        return resident;
    }

    /** Make and prepare a bolt that emits nothing and registers nothing, to try something; {@link #end} it then. */
    static Resident apart(byte[] spec, Map<String, Object> conf, TopologyContext physical, Map<String, String> credentials) {
        SeatWorker worker = SeatWorker.of(physical);
        Resident resident = new Resident(spec, SeatContext.apart(worker, physical), worker, null, 0);
        resident.prepare(conf, new MuteCollector(), credentials);
        return resident;
    }

    private void prepare(Map<String, Object> conf, IOutputCollector out, Map<String, String> credentials) {
        credentials(credentials);
        try {
            bolt.prepare(worker.plain(conf), context, new OutputCollector(out));
            context.prepared();
            census = Census.of(bolt);
        } catch (RuntimeException | Error failed) {
            context.leave();
            end();
            throw failed;
        }
    }

    /** Let go of what the bolt has opened; its own failure in that is nobody else's. */
    void end() {
        try {
            bolt.cleanup();
            context.end();
        } catch (RuntimeException failed) {
            LOG.warn("{} cannot be cleaned up", bolt.getClass().getName(), failed);
        }
    }

    /** How full the fields of the bolt were when it was prepared. */
    Census census() {
        return census;
    }

    /** Execute a tuple that came from a physical task. */
    void execute(TupleImpl came) {
        if (came.getSourceTask() >= 0) {
            pending.incrementAndGet();
            if (tally != null) {
                tally.received();
            }
        }
        bolt.execute(SeatTuple.of(came, worker));
    }

    /** Nothing more comes but ticks. */
    void leave() {
        context.leave();
        leftAt = System.nanoTime();
    }

    /** True, and cleaned up, once it has acknowledged all, or Storm has given up what it has not. */
    boolean gone() {
        boolean gone = pending.get() <= 0 || System.nanoTime() - leftAt > patience;
        if (gone) {
            end();
        }
        return gone;
    }

    void credentials(Map<String, String> credentials) {
        if (bolt instanceof ICredentialsListener) {
            ((ICredentialsListener) bolt).setCredentials(credentials);
        }
    }
}
