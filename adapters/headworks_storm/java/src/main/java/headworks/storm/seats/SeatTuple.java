package headworks.storm.seats;

import org.apache.storm.tuple.TupleImpl;

/** A tuple as its component sees it: the source is a logical task. It is acknowledged in place of the one that came. */
final class SeatTuple extends TupleImpl {
    private SeatTuple(TupleImpl came, int source, LogicalContext context) {
        super(context, came.getValues(), came.getSourceComponent(), source, came.getSourceStreamId(), came.getMessageId());
        Long process = came.getProcessSampleStartTime();
        if (process != null) {
            setProcessSampleStartTime(process);
        }
        Long execute = came.getExecuteSampleStartTime();
        if (execute != null) {
            setExecuteSampleStartTime(execute);
        }
    }

    /** The view of a tuple that came from a physical task. */
    static SeatTuple of(TupleImpl came, SeatWorker worker) {
        return new SeatTuple(came, worker.ids.logical(came.getSourceTask()), worker.context);
    }
}
