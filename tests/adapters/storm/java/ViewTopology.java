import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.ICredentialsListener;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.Credentials;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.SubmitOptions;
import org.apache.storm.generated.TopologyInitialStatus;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metric.api.CountMetric;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * WordCount over the lines of a text, each once, whose tasks write down all that they can see, sorted.
 *
 * <p>Arguments: name, folder for what is written down, file of the text, settings of the topology as JSON.
 */
public final class ViewTopology {
    private ViewTopology() {
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        String folder = arguments[1];
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("lines", new Lines(folder, Files.readAllLines(Path.of(arguments[2]))), 2);
        builder.setBolt("split", new Split(folder), 3).setNumTasks(3).shuffleGrouping("lines");
        builder.setBolt("count", new Count(folder), 4).fieldsGrouping("split", new Fields("word")).allGrouping("lines", "all");
        builder.setBolt("end", new End(folder), 2).fieldsGrouping("count", new Fields("word"))
            .directGrouping("split", "direct").customGrouping("split", "custom", new Custom("end"));
        builder.setBolt("again", new End(folder), 2).directGrouping("split", "direct")
            .customGrouping("split", "custom", new Custom("again")).partialKeyGrouping("count", new Fields("word"));
        Config conf = new Config();
        conf.setNumWorkers(2);
        conf.setNumAckers(2);
        conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        conf.put(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB, 48.0);
        conf.put(Config.STORM_ZOOKEEPER_TOPOLOGY_AUTH_PAYLOAD, "1:2");
        conf.putAll(new ObjectMapper().readValue(arguments[3], Map.class));
        SubmitOptions options = new SubmitOptions(TopologyInitialStatus.ACTIVE);
        options.set_creds(new Credentials(Map.of("secret", "shown")));
        StormSubmitter.submitTopology(arguments[0], conf, builder.createTopology(), options);
    }

    /** What one task saw, in a file that has the name of its task. */
    static final class View extends BaseTaskHook {
        private final Path file;
        private final Set<String> lines = new TreeSet<>();
        private final String task;

        View(String folder, Map<String, Object> conf, TopologyContext context) {
            task = "task " + context.getThisTaskId();
            file = Path.of(folder, Integer.toString(context.getThisTaskId()));
            see("context", context.toJSONString());
            see("component", context.getThisComponentId() + " " + context.getThisTaskId() + " " + context.getThisTaskIndex());
            see("tasks", new TreeMap<>(context.getTaskToComponent()));
            for (String each : new TreeSet<>(context.getComponentIds())) {
                see("tasks of " + each, context.getComponentTasks(each));
                see("streams of " + each, new TreeSet<>(context.getComponentStreams(each)));
                see("sources of " + each, new TreeMap<>(context.getSources(each)));
                see("settings of " + each, sorted(context.getComponentCommon(each).get_json_conf()));
                see("parallelism of " + each, context.getComponentCommon(each).get_parallelism_hint());
            }
            see("timeout", context.maxTopologyMessageTimeout());
            see("fields", new TreeMap<>(context.getThisOutputFieldsForStreams()));
            see("inputs", new TreeMap<>(context.getThisInputFields()));
            settings("conf", conf);
            settings("conf of the context", context.getConf());
            context.setTaskData("own", 1);
            see("data", context.getTaskData("own") + " " + context.getExecutorData("none") + " " + context.getResource("none"));
            see("executor", context.getSharedExecutor() != null);
            context.registerMetric("view", new CountMetric(), 60).incr();
            see("metric", context.getRegisteredMetricByName("view").getClass());
            context.registerCounter("views").inc();
            context.registerGauge("sees", () -> 1);
            context.addTaskHook(this);
            see("hooks", context.getHooks().contains(this));
        }

        private static String sorted(String json) {
            return String.valueOf(new TreeMap<>((Map<?, ?>) JSONValue.parse(json)));
        }

        private void settings(String kind, Map<String, Object> conf) {
            conf.forEach((key, value) -> {
                boolean own = key.startsWith("headworks.") || key.equals("storm.id") || key.equals("topology.name");
                if (!own) {
                    see(kind, key + " = " + value);
                }
            });
        }

        void see(String kind, Object value) {
            lines.add(kind + ": " + value);
        }

        void tuple(Tuple tuple) {
            if (tuple.getSourceTask() >= 0) {
                see("tuple", tuple.getSourceComponent() + " " + tuple.getSourceTask() + " " + tuple.getSourceStreamId() + " "
                    + tuple.getFields() + " " + tuple.size() + " " + tuple.getSourceGlobalStreamId() + " "
                    + tuple.getContext().getComponentTasks(tuple.getSourceComponent()) + " "
                    + tuple.getContext().getComponentId(tuple.getSourceTask()) + " "
                    + tuple.getMessageId().getAnchors().isEmpty() + " " + tuple.select(new Fields(tuple.getFields().get(0))).size());
            } else {
                see("tick", tuple.getSourceComponent() + " " + tuple.getSourceTask() + " " + tuple.getFields());
            }
        }

        @Override
        public void emit(EmitInfo info) {
            if (!info.stream.startsWith("__")) {
                see("hook of an emission", info.stream + " " + task.equals("task " + info.taskId) + " " + info.outTasks);
            }
        }

        @Override
        public void boltExecute(BoltExecuteInfo info) {
            see("hook of an execution", info.tuple.getSourceTask() + " " + task.equals("task " + info.executingTaskId));
        }

        void write() {
            try {
                Path draft = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), String.join("\n", lines));
                Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** Tells by the task that it is asked of, and by the context that it was prepared with. */
    static final class Custom implements CustomStreamGrouping {
        private static final long serialVersionUID = 1L;

        private final String target;
        private List<Integer> targets;
        private int first;

        Custom(String target) {
            this.target = target;
        }

        @Override
        public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
            this.targets = targets;
            first = context.getComponentTasks(target).get(0);
            if (context.getTaskToNodePort().get().get(first) == null) {
                throw new IllegalStateException("no place of task " + first);
            }
        }

        @Override
        public List<Integer> chooseTasks(int task, List<Object> values) {
            return task % 2 == 0 ? targets : List.of(first);
        }
    }

    static final class Lines extends BaseRichSpout implements ICredentialsListener {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private final String[] lines;
        private int next;
        private long acked;
        private long failed;
        private String credentials;
        private transient View view;
        private transient SpoutOutputCollector collector;
        private int step;

        Lines(String folder, List<String> lines) {
            this.folder = folder;
            this.lines = lines.toArray(String[]::new);
        }

        @Override
        public void setCredentials(Map<String, String> fresh) {
            credentials = fresh.get("secret");
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            view = new View(folder, conf, context);
            view.see("credentials", credentials);
            next = context.getThisTaskIndex();
            step = context.getComponentTasks("lines").size();
        }

        @Override
        public void nextTuple() {
            if (next < lines.length) {
                view.see("emitted to", new TreeSet<>(collector.emit("all", new Values(next))));
                collector.emit(new Values(lines[next]), next);
                next += step;
            }
        }

        @Override
        public void ack(Object message) {
            acked++;
            wrote();
        }

        @Override
        public void fail(Object message) {
            failed++;
            wrote();
        }

        private void wrote() {
            if (acked + failed >= (lines.length + step - 1) / step - 1) {
                view.see("acked", acked + " failed " + failed + " of " + lines.length);
                view.lines.removeIf(each -> each.startsWith("acked: ") && !each.startsWith("acked: " + acked + " "));
                view.write();
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("line"));
            declarer.declareStream("all", new Fields("number"));
        }
    }

    abstract static class Seeing extends BaseRichBolt implements ICredentialsListener {
        private static final long serialVersionUID = 1L;

        private final String folder;
        private String credentials;
        transient View view;
        transient TopologyContext context;
        transient OutputCollector collector;

        Seeing(String folder) {
            this.folder = folder;
        }

        @Override
        public void setCredentials(Map<String, String> fresh) {
            credentials = fresh.get("secret");
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.context = context;
            this.collector = collector;
            view = new View(folder, conf, context);
            view.see("credentials", credentials);
        }

        @Override
        public void execute(Tuple tuple) {
            view.tuple(tuple);
            if (Constants.SYSTEM_TICK_STREAM_ID.equals(tuple.getSourceStreamId())) {
                ticked();
                view.write();
            } else {
                received(tuple);
                collector.ack(tuple);
            }
        }

        void ticked() {
        }

        abstract void received(Tuple tuple);
    }

    static final class Split extends Seeing {
        private static final long serialVersionUID = 1L;

        Split(String folder) {
            super(folder);
        }

        @Override
        void received(Tuple tuple) {
            for (String word : tuple.getString(0).split("[^\\p{L}\\p{N}]+")) {
                if (!word.isEmpty()) {
                    List<Integer> sent = collector.emit(tuple, new Values(word));
                    if (word.length() < 5) {
                        view.see("word", word.length() < 3 ? word + " to " + sent : sent.size());
                    }
                }
            }
            for (String each : Arrays.asList("end", "again")) {
                for (int task : context.getComponentTasks(each)) {
                    collector.emitDirect(task, "direct", tuple, new Values(task));
                }
            }
            List<Integer> custom = collector.emit("custom", Collections.singletonList(tuple), new Values(1));
            view.see("custom", new TreeSet<>(custom));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
            declarer.declareStream("direct", true, new Fields("task"));
            declarer.declareStream("custom", new Fields("one"));
        }
    }

    static final class Count extends Seeing {
        private static final long serialVersionUID = 1L;

        private final Map<String, Long> counts = new HashMap<>();

        Count(String folder) {
            super(folder);
        }

        @Override
        void received(Tuple tuple) {
            if (tuple.contains("word")) {
                String word = tuple.getStringByField("word");
                collector.emit(tuple, new Values(word, counts.merge(word, 1L, Long::sum)));
            }
        }

        @Override
        void ticked() {
            view.lines.removeIf(each -> each.startsWith("counted "));
            counts.forEach((word, count) -> view.see("counted " + word, count));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word", "count"));
        }
    }

    static final class End extends Seeing {
        private static final long serialVersionUID = 1L;

        End(String folder) {
            super(folder);
        }

        @Override
        void received(Tuple tuple) {
            if (tuple.contains("task")) {
                view.see("for me", tuple.getInteger(0) == context.getThisTaskId());
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
