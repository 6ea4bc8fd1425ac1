package headworks.storm.workload;

import java.util.ArrayList;
import java.util.List;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Deals tuples over the streams of a component: one goes down every copying stream and one of the splitting ones. */
final class Outputs {
    private static final Fields FIELDS = new Fields("key", "payload");

    private final List<Output> copies = new ArrayList<>();
    private final List<Output> splits = new ArrayList<>();
    private int next;

    Outputs(List<Output> outputs) {
        for (Output each : outputs) {
            (each.split ? splits : copies).add(each);
        }
    }

    static void declare(List<Output> outputs, OutputFieldsDeclarer declarer) {
        for (Output each : outputs) {
            declarer.declareStream(each.stream, FIELDS);
        }
    }

    /** Emit one tuple with this key. */
    void emit(long key, Emitter emitter) {
        for (Output each : copies) {
            emitter.emit(each.stream, values(key, each));
        }
        if (!splits.isEmpty()) {
            Output chosen = splits.get(next);
            next = (next + 1) % splits.size();
            emitter.emit(chosen.stream, values(key, chosen));
        }
    }

    private static Values values(long key, Output output) {
        return new Values(key, new byte[output.bytes]);
    }

    /** Where tuples go: a spout's or a bolt's collector. */
    interface Emitter {
        void emit(String stream, Values values);
    }
}
