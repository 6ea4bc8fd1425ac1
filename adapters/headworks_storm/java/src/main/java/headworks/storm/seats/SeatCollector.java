package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.tuple.Tuple;

/** The collector of a wrapped bolt: ids that go in and out are logical, and emissions go to where tasks live now. */
final class SeatCollector implements IOutputCollector {
    private final IOutputCollector out;
    private final Emission emission;
    private final TaskIds ids;
    private final AtomicInteger pending;
    /** Null where nothing is counted. */
    private final Tally tally;

    /** @param pending counted down by each tuple that is acknowledged or failed */
    SeatCollector(IOutputCollector out, Emission emission, TaskIds ids, AtomicInteger pending, Tally tally) {
        this.out = out;
        this.emission = emission;
        this.ids = ids;
        this.pending = pending;
        this.tally = tally;
    }

    @Override
    public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
        synchronized (emission) {
            emission.current();
            List<Integer> targets = out.emit(stream, anchors, values);
            if (tally != null) {
                tally.emitted(stream, values, targets);
            }
            return ids.logical(targets);
        }
    }

    @Override
    public void emitDirect(int task, String stream, Collection<Tuple> anchors, List<Object> values) {
        synchronized (emission) {
            emission.current();
            int target = emission.physical(task);
            out.emitDirect(target, stream, anchors, values);
            if (tally != null) {
                tally.emitted(stream, values, List.of(target));
            }
        }
    }

    @Override
    public void ack(Tuple input) {
        out.ack(input);
        done(input);
    }

    @Override
    public void fail(Tuple input) {
        out.fail(input);
        done(input);
    }

    private void done(Tuple input) {
        if (input.getSourceTask() >= 0) {
            pending.decrementAndGet();
        }
        if (tally != null) {
            tally.done(input.getMessageId().getAnchorsToIds().size());
        }
    }

    @Override
    public void resetTimeout(Tuple input) {
        out.resetTimeout(input);
    }

    @Override
    public void reportError(Throwable error) {
        out.reportError(error);
    }

    @Override
    public void flush() {
        out.flush();
    }
}
