package headworks.storm.seats;

import java.util.Map;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;

/** A bolt without seats in a topology with seats: it stays where Storm put it, and sees logical ids. */
public final class PinnedBolt implements IBolt, ICredentialsListener, Wrapped, SeatWait.Sleeper {
    private static final long serialVersionUID = 1L;

    private final byte[] spec;
    private transient Map<String, String> credentials;
    private transient Resident resident;
    private transient Emission emission;
    private transient PinnedOrder order;

    /**
     * Take the place of a bolt.
     *
     * @param spec its serialised description
     */
    PinnedBolt(byte[] spec) {
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
        SeatWait.join(this);
        SeatWorker worker = SeatWorker.of(context);
        emission = worker.emission(context.getThisTaskId());
        SeatHandover.mark(emission, collector);
        resident = Resident.prepared(spec, conf, context, collector, credentials);
        order = new PinnedOrder(worker, context, collector, resident);
    }

    @Override
    public void execute(Tuple tuple) {
        emission.poll(); // a bolt that emits nothing for long learns of moves, too
        order.arrive((TupleImpl) tuple);
    }

    @Override
    public boolean awake() {
        return true;
    }

    @Override
    public void idle() {
        if (order != null) {
            emission.poll();
            order.idle();
        }
    }

    @Override
    public void cleanup() {
        if (resident != null) {
            resident.bolt.cleanup();
        }
    }
}
