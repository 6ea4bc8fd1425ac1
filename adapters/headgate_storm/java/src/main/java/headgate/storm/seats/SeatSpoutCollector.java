package headgate.storm.seats;

import java.util.List;
import org.apache.storm.spout.ISpoutOutputCollector;

/** The collector of a wrapped spout: ids that go in and out are logical, and emissions go to where tasks live now. */
final class SeatSpoutCollector implements ISpoutOutputCollector {
    private final ISpoutOutputCollector out;
    private final Emission emission;
    private final TaskIds ids;

    SeatSpoutCollector(ISpoutOutputCollector out, Emission emission, TaskIds ids) {
        this.out = out;
        this.emission = emission;
        this.ids = ids;
    }

    @Override
    public List<Integer> emit(String stream, List<Object> values, Object message) {
        synchronized (emission) {
            emission.current();
            return ids.logical(out.emit(stream, values, message));
        }
    }

    @Override
    public void emitDirect(int task, String stream, List<Object> values, Object message) {
        synchronized (emission) {
            emission.current();
            out.emitDirect(emission.physical(task), stream, values, message);
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
