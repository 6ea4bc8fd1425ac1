package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.storm.Config;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.InvalidTopologyException;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseWindowedBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.trident.TridentTopology;
import org.apache.storm.trident.operation.builtin.Debug;
import org.apache.storm.trident.testing.FixedBatchSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;
import org.apache.storm.windowing.TupleWindow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Topologies that are rewritten, seen by Storm's own classes. */
class TransformTest {
    private static final Map<String, Object> CLUSTER = Utils.readStormConfig();

    /** A bolt with fields that are kept, and one that is not. */
    static final class Keeps extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;
        private final Map<String, Long> counts = new HashMap<>();
        private int seen;
        private transient Object other;

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
            seen++;
            counts.merge(tuple.getString(0), (long) seen, Long::sum);
            other = tuple;
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word", String.valueOf(other)));
        }
    }

    /** A bolt over windows. */
    static final class Windows extends BaseWindowedBolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(TupleWindow window) {
            // nothing
        }
    }

    private static Map<String, Object> conf(int workers, String movable) {
        Map<String, Object> conf = new HashMap<>();
        conf.put(Config.TOPOLOGY_WORKERS, workers);
        conf.put(Config.TOPOLOGY_ACKER_EXECUTORS, 2);
        conf.put(Transform.MOVABLE, movable);
        return conf;
    }

    private static StormTopology words() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new TestWordSpout(), 2);
        builder.setBolt("keeps", new Keeps(), 3).fieldsGrouping("words", new Fields("word")).setMemoryLoad(90).setCPULoad(30);
        builder.setBolt("count", new TestWordCounter(), 2).setNumTasks(4).shuffleGrouping("keeps");
        return builder.createTopology();
    }

    /** A topology in which each bolt hears of some before it. */
    private static StormTopology random(Random random, List<String> names) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout(names.get(0), new TestWordSpout(), 1 + random.nextInt(3));
        for (int i = 1; i < names.size(); i++) {
            BoltDeclarer bolt = builder.setBolt(names.get(i), new TestWordCounter(), 1 + random.nextInt(4));
            for (int j = 0; j < i; j++) {
                if (j == i - 1 || random.nextBoolean()) {
                    bolt = random.nextBoolean() ? bolt.shuffleGrouping(names.get(j)) : bolt.allGrouping(names.get(j));
                }
            }
        }
        return builder.createTopology();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void stormTakesItAndItsTasksAreThoseWithoutSeats(int seed) throws Exception {
        Random random = new Random(seed);
        List<String> names = List.of("m", "c", "x", "a", "k");
        StormTopology topology = random(random, names);
        int workers = 1 + random.nextInt(4);
        Map<String, Object> conf = conf(workers, random.nextBoolean() ? "c=stateless; a=stateless" : "x=movable");
        Seated plain = Seated.plain(topology, conf);
        Seated seated = Seated.seated(topology, conf);
        SeatWorker worker = SeatWorker.of(seated.worker());
        assertEquals(plain.components, worker.components);
        Map<Integer, Integer> living = new HashMap<>();
        for (int task : seated.components.keySet()) {
            if (worker.lives(task)) {
                living.merge(worker.ids.logical(task), 1, Integer::sum);
                assertEquals(task, worker.physical(worker.ids.logical(task)));
            }
        }
        assertEquals(plain.components.keySet(), living.keySet(), "each lives somewhere");
        assertEquals(plain.components.size(), living.values().stream().mapToInt(each -> each).sum(), "and once");
    }

    @Test
    void aTaskBeginsInTheSlotInWhichEvenWouldPutItWithoutSeats() throws Exception {
        SeatWorker worker = SeatWorker.of(Seated.seated(words(), conf(3, "keeps=fields:counts,seen; count=stateless")).worker());
        for (String component : List.of("keeps", "count")) {
            for (int task : worker.tasks.get(component)) {
                // Even deals executors over slots in the order of their first tasks.
                assertEquals((task - 1) % 3, (worker.physical(task) - 1) % 3);
            }
        }
    }

    @Test
    void everyTaskSeesTheTopologyThatWasBuilt() throws Exception {
        Map<String, Object> conf = conf(3, "keeps=fields:counts,seen; count=stateless");
        Seated plain = Seated.plain(words(), conf);
        Seated seated = Seated.seated(words(), conf);
        SeatWorker worker = SeatWorker.of(seated.worker());
        for (int task : seated.components.keySet()) {
            if (!seated.components.get(task).startsWith("__")) {
                TopologyContext seen = new SeatContext(worker, seated.task(task));
                TopologyContext wanted = plain.task(seen.getThisTaskId());
                assertEquals(wanted.toJSONString(), seen.toJSONString());
                assertEquals(wanted.getThisTaskIndex(), seen.getThisTaskIndex());
                assertEquals(wanted.getThisTargets(), seen.getThisTargets());
                assertEquals(wanted.getThisSources(), seen.getThisSources());
                assertEquals(wanted.getRawTopology().get_bolts(), seen.getRawTopology().get_bolts());
                assertEquals(wanted.getRawTopology().get_spouts(), seen.getRawTopology().get_spouts());
                Map<String, Object> own = new HashMap<>(wanted.getConf());
                own.remove(Transform.MOVABLE);
                assertEquals(own, seen.getConf());
                assertEquals(wanted.getThisWorkerTasks().size(), seen.getThisWorkerTasks().size());
            }
        }
    }

    @Test
    void allSeatsOfATaskAskForAsMuchAsTheTaskAndForTwiceTheHeap() {
        StormTopology topology = words();
        Transform.apply(topology, conf(3, "keeps=stateless"), CLUSTER);
        Bolt bolt = topology.get_bolts().get("keeps");
        Map<String, Object> settings = ComponentSettings.of(bolt.get_common());
        assertEquals(9, bolt.get_common().get_parallelism_hint());
        assertEquals(30.0 / 3, (double) settings.get(Config.TOPOLOGY_COMPONENT_CPU_PCORE_PERCENT), 1e-9);
        assertEquals(90.0 * 2 / 3, (double) settings.get(Config.TOPOLOGY_COMPONENT_RESOURCES_ONHEAP_MEMORY_MB), 1e-9);
    }

    @Test
    void aBoltOfWhichNothingWasSaidStaysAndASentenceSaysWhatToWrite() {
        List<String> notes = Transform.apply(words(), conf(3, "count=stateless"), CLUSTER);
        assertEquals(List.of("keeps (Keeps) stays where it is, as nothing is said of its state: say --movable keeps=stateless, or "
            + "--movable keeps=fields:A,B with the fields that change as it executes (serialised are seen, counts; transient ones "
            + "are not seen), or implement headworks.storm.seats.Movable and say --movable keeps=movable"), notes);
    }

    @Test
    void nothingAskedForNothingChanged() {
        StormTopology topology = words();
        Map<String, Object> conf = conf(3, "");
        Transform.apply(topology, conf, CLUSTER);
        assertEquals(words(), topology);
        assertFalse(conf.containsKey(Seating.KEY));
    }

    private static void refused(String part, Map<String, Object> conf, StormTopology topology) {
        StormTopology before = topology.deepCopy();
        Refusal refusal = assertThrows(Refusal.class, () -> Transform.apply(topology, conf, CLUSTER));
        assertTrue(refusal.getMessage().contains(part), refusal.getMessage());
        assertEquals(before, topology, "what is refused is not changed");
    }

    private static Map<String, Object> with(String key, Object value) {
        Map<String, Object> conf = conf(3, "count=stateless");
        conf.put(key, value);
        return conf;
    }

    @Test
    void whatCannotBeHadIsRefused() {
        refused("there is no bolt other: those of the topology are", conf(3, "other=stateless"), words());
        refused("there is no bolt words", conf(3, "words=stateless"), words());
        refused("count=many is no state of a component", conf(3, "count=many"), words());
        refused("topology.producer.batch.size is 8", with(Config.TOPOLOGY_PRODUCER_BATCH_SIZE, 8), words());
        refused("topology.transfer.batch.size is 8", with(Config.TOPOLOGY_TRANSFER_BATCH_SIZE, 8), words());
        refused("topology.executor.overflow.limit is 9", with(Config.TOPOLOGY_EXECUTOR_OVERFLOW_LIMIT, 9), words());
        refused("would have 12 seats, and headworks.seats.max is 11", with(Requested.MOST, 11), words());
    }

    @Test
    void aWindowedBoltIsRefusedOrStays() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new TestWordSpout(), 2);
        builder.setBolt("windows", new Windows().withTumblingWindow(BaseWindowedBolt.Count.of(3))).shuffleGrouping("words");
        builder.setBolt("count", new TestWordCounter(), 2).shuffleGrouping("words");
        refused("windows (WindowedBoltExecutor) cannot have seats: it is windowed", conf(2, "windows=stateless"), builder.createTopology());
        List<String> notes = Transform.apply(builder.createTopology(), conf(2, "count=stateless"), CLUSTER);
        assertTrue(notes.get(0).startsWith("windows (WindowedBoltExecutor) stays where it is: it is windowed"), notes.toString());
    }

    /** A bolt whose program is in another language, as Storm's own examples write one. */
    static final class Shell extends ShellBolt implements IRichBolt {
        private static final long serialVersionUID = 1L;

        Shell() {
            super("python3", "splitsentence.py");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return null;
        }
    }

    @Test
    void aProgramInAnotherLanguageIsRefusedOrStays() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new TestWordSpout(), 2);
        builder.setBolt("split", new Shell()).shuffleGrouping("words");
        builder.setBolt("count", new TestWordCounter(), 2).shuffleGrouping("split");
        refused("split (Shell) cannot have seats: it is a program in another language", conf(2, "split=stateless"),
            builder.createTopology());
        List<String> notes = Transform.apply(builder.createTopology(), conf(2, "count=stateless"), CLUSTER);
        assertTrue(notes.get(0).startsWith("split (Shell) stays where it is"), notes.toString());
    }

    @Test
    @SuppressWarnings("unchecked") // arguments of a generic type, as Storm has them
    void aTopologyOfTridentIsRefused() {
        TridentTopology trident = new TridentTopology();
        trident.newStream("words", new FixedBatchSpout(new Fields("word"), 1, new Values("a"))).each(new Fields("word"), new Debug());
        StormTopology topology = trident.build();
        String bolt = topology.get_bolts().keySet().iterator().next();
        refused("it belongs to Trident", conf(2, bolt + "=stateless"), topology);
    }

    @Test
    void nimbusRewritesWhatAsksForItAndRefusesWhatCannotBeHad() throws Exception {
        Validator validator = new Validator();
        validator.prepare(CLUSTER);
        StormTopology topology = words();
        Map<String, Object> conf = conf(3, "count=stateless");
        validator.validate("words", conf, topology);
        assertEquals(12, topology.get_bolts().get("count").get_common().get_parallelism_hint());
        validator.validate("words", conf, topology); // one that was rewritten by who submitted it
        conf.remove(Seating.KEY);
        conf.remove(Transform.MOVABLE);
        StormTopology plain = words();
        validator.validate("words", conf, plain);
        assertEquals(words(), plain);
        InvalidTopologyException refused = assertThrows(InvalidTopologyException.class,
            () -> validator.validate("words", conf(3, "other=stateless"), words()));
        assertTrue(refused.get_msg().startsWith("there is no bolt other"), refused.get_msg());
    }

    @Test
    void theClassOfABoltIsReadWithoutLoadingIt() throws Exception {
        byte[] stream = words().get_bolts().get("keeps").get_bolt_object().get_serialized_java();
        String text = new String(stream, java.nio.charset.StandardCharsets.ISO_8859_1);
        byte[] unknown = text.replace("TransformTest$Keeps", "TransformTest$Kaaps").getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        Kinds kind = Kinds.of(org.apache.storm.generated.ComponentObject.serialized_java(unknown));
        assertEquals("Kaaps", kind.simple());
        assertEquals(List.of("seen", "counts"), kind.fields);
    }

    @Test
    void aTopologyIsNotRewrittenTwice() {
        StormTopology topology = words();
        Map<String, Object> conf = conf(3, "count=stateless");
        Transform.apply(topology, conf, CLUSTER);
        refused("has seats already", conf, topology);
    }
}
