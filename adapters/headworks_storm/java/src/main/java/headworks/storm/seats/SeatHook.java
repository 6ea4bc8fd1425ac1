package headworks.storm.seats;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.BoltFailInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.hooks.info.SpoutFailInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;

/** Tells a hook that a component added what happens, with logical ids; not of what goes over Headworks's own stream. */
final class SeatHook implements ITaskHook {
    private static final ITaskHook NONE = new BaseTaskHook();

    private volatile ITaskHook hook;
    private final SeatWorker worker;

    SeatHook(ITaskHook hook, SeatWorker worker) {
        this.hook = hook;
        this.worker = worker;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        // it was prepared with the context of the logical task
    }

    @Override
    public void cleanup() {
        hook.cleanup();
    }

    /** Tell it of nothing any more: Storm keeps hooks as long as the executor. */
    void end() {
        ITaskHook last = hook;
        hook = NONE;
        last.cleanup();
    }

    @Override
    public void emit(EmitInfo info) {
        if (!Seating.STREAM.equals(info.stream)) {
            hook.emit(new EmitInfo(info.values, info.stream, plain(info.taskId), plain(info.outTasks)));
        }
    }

    @Override
    public void spoutAck(SpoutAckInfo info) {
        hook.spoutAck(new SpoutAckInfo(info.messageId, plain(info.spoutTaskId), info.completeLatencyMs));
    }

    @Override
    public void spoutFail(SpoutFailInfo info) {
        hook.spoutFail(new SpoutFailInfo(info.messageId, plain(info.spoutTaskId), info.failLatencyMs));
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        if (!Seating.STREAM.equals(info.tuple.getSourceStreamId())) {
            Tuple seen = SeatTuple.of((TupleImpl) info.tuple, worker);
            hook.boltExecute(new BoltExecuteInfo(seen, plain(info.executingTaskId), info.executeLatencyMs));
        }
    }

    @Override
    public void boltAck(BoltAckInfo info) {
        hook.boltAck(new BoltAckInfo(info.tuple, plain(info.ackingTaskId), info.processLatencyMs));
    }

    @Override
    public void boltFail(BoltFailInfo info) {
        hook.boltFail(new BoltFailInfo(info.tuple, plain(info.failingTaskId), info.failLatencyMs));
    }

    private int plain(int task) {
        return worker.ids.logical(task);
    }

    private List<Integer> plain(Collection<Integer> tasks) {
        List<Integer> ids = new ArrayList<>(tasks.size());
        for (Integer task : tasks) {
            ids.add(task == null ? null : (Integer) plain(task));
        }
        return ids;
    }
}
