package headworks.storm.workload;

import com.fasterxml.jackson.databind.ObjectMapper;
import headworks.storm.seats.Door;
import headworks.storm.seats.Transform;
import java.io.File;
import java.util.Map;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;

/** Submits the topology that a file describes; its one argument is the file. */
public final class Submit {
    private Submit() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> described = new ObjectMapper().readValue(new File(arguments[0]), Map.class);
        Map<String, Object> conf = (Map<String, Object>) described.get("conf");
        StormTopology topology = Builder.build(described);
        Map<String, Object> seats = (Map<String, Object>) described.get("seats");
        if (seats != null) {
            conf.put(Transform.MOVABLE, seats.isEmpty() ? Builder.states(described) : seats);
            Door.seat(topology, conf);
        }
        StormSubmitter.submitTopology((String) described.get("name"), conf, topology);
    }
}
