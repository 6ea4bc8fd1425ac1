package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import java.util.Map;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.spout.ISpout;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;

/** A spout in a topology with seats: it stays where Storm put it, sees logical ids, and emits to where tasks live. */
public final class SeatSpout implements ISpout, ICredentialsListener, Wrapped {
    private static final long serialVersionUID = 1L;

    private final byte[] spec;
    private transient Map<String, String> credentials;
    private transient Emission emission;
    private transient ISpout spout;
    private transient Tally tally;
    /** Whether its topology is not active: then its executor does not ask it for tuples. */
    private transient volatile boolean resting;

    /**
     * Take the place of a spout.
     *
     * @param spec its serialised description
     */
    SeatSpout(byte[] spec) {
        this.spec = spec;
    }

    @Override
    public byte[] spec() {
        return spec;
    }

    @Override
    public void setCredentials(Map<String, String> fresh) {
        credentials = fresh;
        if (spout instanceof ICredentialsListener) {
            ((ICredentialsListener) spout).setCredentials(fresh);
        }
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        SeatWorker worker = SeatWorker.of(context);
        resting = true; // until it is activated
        emission = worker.emission(context.getThisTaskId());
        tally = worker.tally(context.getThisTaskId());
        int task = emission.task();
        emission.onDeparture((component, index, from, epoch) -> collector.emitDirect(from, Seating.STREAM,
            SeatMessage.values(index, SeatMessage.DIRECT, Message.mark(task, epoch))));
        spout = (ISpout) Wrapped.component(spec, true);
        setCredentials(credentials);
        SeatContext own = new SeatContext(worker, context);
        spout.open(worker.plain(conf), own,
            new SpoutOutputCollector(new SeatSpoutCollector(collector, emission, worker.ids, tally)));
        own.prepared();
        worker.join(this);
    }

    @Override
    public void nextTuple() {
        emission.poll(); // a spout that has nothing to emit learns of moves, too
        spout.nextTuple();
    }

    /** Learn of moves if its executor does not have it do so; from any thread, as all is sent under the lock of the emission. */
    void pollResting() {
        if (resting) {
            emission.poll();
        }
    }

    @Override
    public void ack(Object message) {
        if (tally != null) {
            tally.acked(message);
        }
        spout.ack(message);
    }

    @Override
    public void fail(Object message) {
        if (tally != null) {
            tally.failed(message);
        }
        spout.fail(message);
    }

    @Override
    public void activate() {
        resting = false;
        spout.activate();
    }

    @Override
    public void deactivate() {
        spout.deactivate();
        resting = true;
    }

    @Override
    public void close() {
        if (spout != null) {
            spout.close();
        }
    }
}
