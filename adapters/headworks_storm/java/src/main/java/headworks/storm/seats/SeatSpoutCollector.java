package headworks.storm.seats;

import headworks.storm.monitor.Tally;
import java.util.List;
import org.apache.storm.spout.ISpoutOutputCollector;

/** The collector of a wrapped spout: ids that go in and out are logical, and emissions go to where tasks live now. */
final class SeatSpoutCollector implements ISpoutOutputCollector {
    private final ISpoutOutputCollector out;
    private final Emission emission;
    private final TaskIds ids;
    /** Null where nothing is counted. */
    private final Tally tally;

    SeatSpoutCollector(ISpoutOutputCollector out, Emission emission, TaskIds ids, Tally tally) {
        this.out = out;
        this.emission = emission;
        this.ids = ids;
        this.tally = tally;
    }

    @Override
    public List<Integer> emit(String stream, List<Object> values, Object message) {
        synchronized (emission) {
            emission.current();
            List<Integer> targets = out.emit(stream, values, message);
            emitted(stream, values, targets, message);
            return ids.logical(targets);
        }
    }

    @Override
    public void emitDirect(int task, String stream, List<Object> values, Object message) {
        synchronized (emission) {
            emission.current();
            int target = emission.physical(task);
            out.emitDirect(target, stream, values, message);
            emitted(stream, values, List.of(target), message);
        }
    }

    private void emitted(String stream, List<Object> values, List<Integer> targets, Object message) {
        if (tally != null) {
            tally.emitted(stream, values, targets);
            tally.begun(message);
        }
    }

    @Override
    public long getPendingCount() {
        return out.getPendingCount();
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
