package headworks.storm.workload;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/** One stream that a component emits: its name, the bytes of its payload, and whether it shares tuples with others. */
final class Output implements Serializable {
    private static final long serialVersionUID = 1L;

    final String stream;
    final int bytes;
    final boolean split;

    Output(String stream, int bytes, boolean split) {
        this.stream = stream;
        this.bytes = bytes;
        this.split = split;
    }

    static List<Output> listOf(List<Map<String, Object>> described) {
        return described.stream().map(Output::of).collect(java.util.stream.Collectors.toList());
    }

    private static Output of(Map<String, Object> described) {
        return new Output(
                (String) described.get("stream"),
                ((Number) described.get("bytes")).intValue(),
                (Boolean) described.get("split"));
    }
}
