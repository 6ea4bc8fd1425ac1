package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.Config;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.utils.ObjectReader;

/** A logical task where it lives: the user's bolt, prepared with what it would see without seats. */
final class Resident {
    /** The user's own. */
    final IBolt bolt;
    private final SeatWorker worker;
    /** Null where nothing is counted. */
    private final Tally tally;
    /** Tuples that it has executed, and neither acknowledged nor failed. */
    private final AtomicInteger pending = new AtomicInteger();
    private final long patience;
    private Census census;
    private long leftAt;

    private Resident(IBolt bolt, SeatWorker worker, Tally tally, long patience) {
        this.bolt = bolt;
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
        IBolt bolt = (IBolt) Wrapped.component(spec, false);
        Tally tally = worker.tally(physical.getThisTaskId());
        Resident resident = new Resident(bolt, worker, tally, TimeUnit.SECONDS.toNanos(timeout));
        resident.credentials(credentials);
        Emission emission = worker.emission(physical.getThisTaskId());
        resident.bolt.prepare(worker.plain(conf), new SeatContext(worker, physical),
            new OutputCollector(new SeatCollector(out, emission, worker.ids, resident.pending, tally)));
        resident.census = Census.of(bolt);
        return resident;
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
        leftAt = System.nanoTime();
    }

    /** True, and cleaned up, once it has acknowledged all, or Storm has given up what it has not. */
    boolean gone() {
        boolean gone = pending.get() <= 0 || System.nanoTime() - leftAt > patience;
        if (gone) {
            bolt.cleanup();
        }
        return gone;
    }

    void credentials(Map<String, String> credentials) {
        if (bolt instanceof ICredentialsListener) {
            ((ICredentialsListener) bolt).setCredentials(credentials);
        }
    }
}
