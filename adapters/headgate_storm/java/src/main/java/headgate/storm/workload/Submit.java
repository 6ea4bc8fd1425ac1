package headgate.storm.workload;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.Map;
import org.apache.storm.StormSubmitter;

/** Submits the topology that a file describes; its one argument is the file. */
public final class Submit {
    private Submit() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> described = new ObjectMapper().readValue(new File(arguments[0]), Map.class);
        Map<String, Object> conf = (Map<String, Object>) described.get("conf");
        StormSubmitter.submitTopology((String) described.get("name"), conf, Builder.build(described));
    }
}
