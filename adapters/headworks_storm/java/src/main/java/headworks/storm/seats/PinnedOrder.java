package headworks.storm.seats;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;

/** A bolt that never moves, downstream of tasks that do: what a new seat of theirs sends waits for the END of the old. */
final class PinnedOrder implements Effects<TupleImpl> {
    private static final int LOOK = 256;

    private final TopologyContext context;
    private final OutputCollector out;
    private final Resident resident;
    private final Handover<TupleImpl> handover;
    private int tuples;

    /** @param context of the physical task */
    PinnedOrder(SeatWorker worker, TopologyContext context, OutputCollector out, Resident resident) {
        this.context = context;
        this.out = out;
        this.resident = resident;
        int task = context.getThisTaskId();
        Upstream upstream = new Upstream(worker, context);
        handover = new Handover<>(task, upstream.sources, upstream.current, Entry.home(task), worker.limits,
            this);
    }

    void arrive(TupleImpl tuple) {
        if (tuple.getSourceTask() < 0) {
            resident.execute(tuple);
        } else if (Seating.STREAM.equals(tuple.getSourceStreamId())) {
            handover.direct(SeatMessage.read(tuple, context));
            out.ack(tuple);
        } else {
            handover.tuple(tuple.getSourceTask(), tuple);
        }
        if ((++tuples & LOOK - 1) == 0) {
            idle();
        }
    }

    void idle() {
        handover.expire();
    }

    @Override
    public void execute(TupleImpl tuple) {
        resident.execute(tuple);
    }

    @Override
    public void send(int seat, long epoch, Message<TupleImpl> message) {
        throw new IllegalStateException(context.getThisTaskId() + " has no seat that is not its own");
    }

    @Override
    public void end(int next) {
        throw new IllegalStateException(context.getThisTaskId() + " never moves");
    }

    @Override
    public byte[] snapshot() throws SnapshotException {
        throw new SnapshotException(context.getThisTaskId() + " never moves", null);
    }

    @Override
    public void restore(byte[] content) {
        throw new IllegalStateException(context.getThisTaskId() + " never moves");
    }

    @Override
    public void left() {
        throw new IllegalStateException(context.getThisTaskId() + " never moves");
    }

    @Override
    public void kept(String why) {
        throw new IllegalStateException(context.getThisTaskId() + " never moves");
    }

    @Override
    public long bytes(TupleImpl tuple) {
        return SeatMessage.bytes(tuple);
    }

    @Override
    public long now() {
        return System.nanoTime();
    }
}
