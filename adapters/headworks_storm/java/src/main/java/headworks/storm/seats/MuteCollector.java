package headworks.storm.seats;

import java.util.Collection;
import java.util.List;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.tuple.Tuple;

/** The collector of a bolt that only tries something: nothing leaves it. */
final class MuteCollector implements IOutputCollector {
    @Override
    public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
        return List.of();
    }

    @Override
    public void emitDirect(int task, String stream, Collection<Tuple> anchors, List<Object> values) {
        // nobody has it
    }

    @Override
    public void ack(Tuple tuple) {
        // it was given none
    }

    @Override
    public void fail(Tuple tuple) {
        // as above
    }

    @Override
    public void resetTimeout(Tuple tuple) {
        // as above
    }

    @Override
    public void flush() {
        // nothing waits
    }

    @Override
    public void reportError(Throwable error) {
        // whoever tries is told
    }
}
