import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.task.TopologyContext;

/** Writes down what Storm tells of the bolt with metrics: task, name and value. */
public final class ToldMetrics implements IMetricsConsumer {
    private Path file;

    @Override
    public void prepare(Map<String, Object> conf, Object folder, TopologyContext context, IErrorReporter errors) {
        file = Path.of((String) folder, "told");
    }

    @Override
    public void handleDataPoints(TaskInfo from, Collection<DataPoint> points) {
        points.forEach(each -> {
            if (from.srcComponentId.equals("meter") && each.name.startsWith("own")) {
                MetricsTopology.append(file, from.srcTaskId + " " + each.name + " " + each.value);
            }
        });
    }

    @Override
    public void cleanup() {
    }
}
