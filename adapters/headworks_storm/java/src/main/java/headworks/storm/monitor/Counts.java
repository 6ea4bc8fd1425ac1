package headworks.storm.monitor;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * What one task did since it started.
 *
 * <p>All numbers are plain: the thread of the task's executor alone writes them, and the reporter alone reads them.
 * They only grow, so that a value seen late is in the next report, and none is lost. Between two tuples an executor
 * goes through volatile fields of its queues, which makes what it wrote visible. A bolt that emits from threads of its
 * own may lose counts, and nothing else.
 */
final class Counts {
    private static final int MOST_STREAMS = 256;
    /** A spout tells an acker on this stream of each tuple that is to be acked. */
    static final String BEGUN = "__ack_init";

    final int task;
    long received;
    long failed;
    private long acked;
    private long latencyMs;
    private long latencies;
    /** Null before the first. */
    private volatile Delays delays;
    private final boolean system;
    private final int tasks;
    private final long sample;
    /** Null where every event is counted. */
    private final SampledHooks hooks;
    /** Never changed, but replaced: a reader has one whole map or the other. */
    private volatile Map<String, Output> outputs = Map.of();
    /** Two: a bolt sends its tuples and its acknowledgements in turn. */
    private Output latest;
    private Output earlier;
    /** The reporter's: what the reports had so far. */
    private final long[] told = new long[6];

    Counts(int task, WorkerTopologyContext context, long sample, SampledHooks hooks) {
        this.task = task;
        this.system = isSystem(context.getComponentId(task));
        this.tasks = 1 + context.getTaskToComponent().keySet().stream().max(Integer::compare).orElse(0);
        this.sample = sample;
        this.hooks = hooks;
    }

    /** @param weight emits that this one stands for */
    void emitted(String stream, List<Object> values, Collection<Integer> targets, int weight, Sizes sizes) {
        Output output = latest;
        if (output == null || !output.stream.equals(stream)) {
            output = earlier;
            if (output == null || !output.stream.equals(stream)) {
                output = output(stream);
                if (output == null) {
                    return;
                }
                earlier = latest;
                latest = output;
            }
        }
        output.add(values, targets, weight, sizes);
    }

    /** @param ms complete latency, null for those that Storm did not sample */
    void acked(Long ms) {
        acked++;
        if (ms != null) {
            latencyMs += ms;
            latencies++;
            if (delays == null) {
                delays = new Delays();
            }
            delays.add(ms);
        }
    }

    /** By the reporter: the next events are counted one by one, or some for all, by how many there were. */
    void pace(double seconds) {
        if (hooks != null) {
            hooks.pace(seconds);
        }
    }

    private Output output(String stream) {
        Output known = outputs.get(stream);
        if (known == null && outputs.size() < MOST_STREAMS) {
            known = new Output(stream, system || !isSystem(stream), tasks, sample);
            Map<String, Output> more = new HashMap<>(outputs);
            more.put(stream, known);
            outputs = more;
        }
        return known;
    }

    /** Storm's own components and streams. */
    static boolean isSystem(String name) {
        return name.startsWith("__");
    }

    /** Appends {@code [task,received,emitted,acked,failed,latencies,latencyMs]} since the last time. */
    void tell(StringBuilder json) {
        long emitted = 0;
        for (Output output : outputs.values()) {
            emitted += output.counted ? output.emitted : 0;
        }
        long[] now = {received, emitted, acked, failed, latencies, latencyMs};
        json.append('[').append(task);
        for (int i = 0; i < now.length; i++) {
            json.append(',').append(now[i] - told[i]);
            told[i] = now[i];
        }
        json.append(']');
    }

    /** Appends {@code [task,pending],} if this is a spout whose tuples are acked: those that are neither acked nor failed. */
    void tellPending(StringBuilder json) {
        Output begun = outputs.get(BEGUN);
        if (begun != null) {
            long pending = begun.emitted - acked - failed;
            json.append('[').append(task).append(',').append(Math.max(0, pending)).append("],");
        }
    }

    /** Appends the rows of {@link Delays#tell}, if any complete latency was measured. */
    void tellDelays(StringBuilder json) {
        Delays known = delays;
        if (known != null) {
            known.tell(task, json);
        }
    }

    /** Appends a flow {@code [source,target,tuples,bytes]} for every target since the last time. */
    void tellFlows(StringBuilder json) {
        for (Output output : outputs.values()) {
            output.tell(task, json);
        }
    }
}
