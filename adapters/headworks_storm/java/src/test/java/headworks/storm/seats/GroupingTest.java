package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.Config;
import org.apache.storm.daemon.GrouperFactory;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.grouping.LoadAwareCustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Choices of tasks with seats and without, made by Storm's own classes. */
class GroupingTest {
    private static final int CHOICES = 10_000;
    private static final int TASKS = 5;
    private static final int WORKERS = 3;

    /** Chooses by the length of the word, and by the ids that it was prepared with. */
    static final class ByLength implements CustomStreamGrouping {
        private static final long serialVersionUID = 1L;
        private List<Integer> targets;
        private int first;

        @Override
        public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
            this.targets = targets;
            first = context.getComponentTasks("target").get(0);
        }

        @Override
        public List<Integer> chooseTasks(int task, List<Object> values) {
            int length = values.get(0).toString().length();
            return length % 4 == 0 ? List.of() : List.of(targets.get(length % TASKS), first + task % TASKS);
        }
    }

    private static StormTopology topology(String grouping) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new TestWordSpout(), 2);
        group(builder.setBolt("target", new TestWordCounter(), TASKS), grouping);
        builder.setBolt("after", new TestWordCounter(), 2).shuffleGrouping("target");
        return builder.createTopology();
    }

    private static void group(BoltDeclarer bolt, String grouping) {
        switch (grouping) {
            case "fields":
                bolt.fieldsGrouping("source", new Fields("word"));
                break;
            case "all":
                bolt.allGrouping("source");
                break;
            case "global":
                bolt.globalGrouping("source");
                break;
            case "partial":
                bolt.partialKeyGrouping("source", new Fields("word"));
                break;
            case "custom":
                bolt.customGrouping("source", new ByLength());
                break;
            case "none":
                bolt.noneGrouping("source");
                break;
            case "local":
                bolt.localOrShuffleGrouping("source");
                break;
            default:
                bolt.shuffleGrouping("source");
        }
    }

    /** What each task of the source chooses for many words, in the ids of the topology without seats. */
    private static List<List<Integer>> choices(Seated seated, boolean seats, int working) throws Exception {
        WorkerTopologyContext context = seated.worker();
        if (seats) {
            SeatWorker worker = SeatWorker.of(context);
            SharedOwners owners = new SharedOwners();
            owners.learn("target", worker.ids.seats("target").homes().working(working, 1));
            worker.follow(owners, Arrivals::executed);
        }
        Fields fields = new Fields("word");
        List<List<Integer>> chosen = new ArrayList<>();
        for (int source : seated.tasks.get("source")) {
            LoadAwareCustomStreamGrouping grouper = GrouperFactory.mkGrouper(context, "source", Utils.DEFAULT_STREAM_ID, fields,
                seated.topology.get_bolts().get("target").get_common()
                    .get_inputs().get(new GlobalStreamId("source", Utils.DEFAULT_STREAM_ID)),
                seated.tasks.get("target"), seated.conf);
            Random random = new Random(source);
            for (int n = 0; n < CHOICES; n++) {
                String word = Long.toString(Math.abs(random.nextLong() % 100_000), 36) + "x".repeat(random.nextInt(5));
                List<Integer> tasks = new ArrayList<>(grouper.chooseTasks(source, new Values(word)));
                chosen.add(seats ? SeatWorker.of(context).ids.logical(tasks) : tasks);
            }
        }
        return chosen;
    }

    private static Map<String, Object> conf() {
        Map<String, Object> conf = new HashMap<>();
        conf.put(Config.TOPOLOGY_WORKERS, WORKERS);
        return conf;
    }

    private static List<List<Integer>> plain(String grouping) throws Exception {
        return choices(Seated.plain(topology(grouping), conf()), false, TASKS);
    }

    private static List<List<Integer>> seated(String grouping) throws Exception {
        return seated(grouping, TASKS);
    }

    private static List<List<Integer>> seated(String grouping, int working) throws Exception {
        Map<String, Object> conf = conf();
        conf.put(Transform.MOVABLE, "target=stateless");
        return choices(Seated.seated(topology(grouping), conf), true, working);
    }

    @ParameterizedTest
    @ValueSource(strings = {"fields", "all", "global", "partial"})
    void choosesTheSameTaskForEveryTuple(String grouping) throws Exception {
        assertEquals(plain(grouping), seated(grouping));
    }

    @Test
    void aCustomGroupingIsPreparedAndAskedWithTheIdsThatItWouldHaveWithoutSeats() throws Exception {
        // it depends on the id of the emitter: spouts have other physical ids with seats
        assertEquals(plain("custom"), seated("custom"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"shuffle", "local", "none"})
    void dealsOverAllTasksAsEvenly(String grouping) throws Exception {
        Map<Integer, Integer> counts = new TreeMap<>();
        seated(grouping).forEach(each -> each.forEach(task -> counts.merge(task, 1, Integer::sum)));
        Map<Integer, Integer> expected = new TreeMap<>();
        plain(grouping).forEach(each -> each.forEach(task -> expected.merge(task, 1, Integer::sum)));
        assertEquals(expected.keySet(), counts.keySet());
        counts.forEach((task, count) -> assertTrue(Math.abs(count - expected.get(task)) < CHOICES / 10, counts + "/" + expected));
    }

    @ParameterizedTest
    @ValueSource(strings = {"shuffle", "local", "none"})
    void dealsOverTheTasksThatAreToWork(String grouping) throws Exception {
        Set<Integer> all = new TreeSet<>();
        plain(grouping).forEach(all::addAll);
        Set<Integer> chosen = new TreeSet<>();
        seated(grouping, 2).forEach(chosen::addAll);
        assertEquals(new ArrayList<>(all).subList(0, 2), new ArrayList<>(chosen));
    }

    @ParameterizedTest
    @ValueSource(strings = {"fields", "all", "global", "partial"})
    void choosesAmongAllTasksWhereTheirNumberMatters(String grouping) throws Exception {
        assertEquals(plain(grouping), seated(grouping, 2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"shuffle", "fields"})
    void theNumberOfTasksThatWorkMayChangeOnlyWhereTuplesAreDealtEvenly(String grouping) throws Exception {
        Map<String, Object> conf = conf();
        conf.put(Transform.MOVABLE, "target=stateless; after=fields:counts");
        Seating seating = Seating.of(Seated.seated(topology(grouping), conf).conf);
        assertEquals(grouping.equals("shuffle"), seating.components().get("target").elastic);
        assertFalse(seating.components().get("after").elastic, "it keeps something");
    }
}
