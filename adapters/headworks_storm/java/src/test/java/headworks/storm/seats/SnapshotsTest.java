package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicBoltExecutor;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

class SnapshotsTest {
    private final Map<String, Object> conf = Utils.readStormConfig();

    static class Counting extends BaseBasicBolt {
        private static final long serialVersionUID = 1L;
        private final Map<String, Long> counts = new HashMap<>();

        @Override
        public void execute(Tuple tuple, BasicOutputCollector collector) {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    /** Has the counts of its superclass, and a state that nobody can serialise. */
    static final class Both extends Counting {
        private static final long serialVersionUID = 1L;
        private long number;
        private transient Thread thread = Thread.currentThread();
    }

    static class Own extends BaseRichBolt implements Movable {
        private static final long serialVersionUID = 1L;
        private byte[] state = {1, 2};

        @Override
        public byte[] snapshot() {
            return state;
        }

        @Override
        public void restore(byte[] state) {
            this.state = state;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        }

        @Override
        public void execute(Tuple tuple) {
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    private static Both both(long number) {
        Both bolt = new Both();
        ((Counting) bolt).counts.put("word", number);
        bolt.number = number;
        return bolt;
    }

    @Test
    void namedFieldsGoFromOneBoltToAnother() throws Exception {
        Snapshots snapshots = new Snapshots("fields:counts,number", conf);
        Both from = both(7);
        Both to = both(1);
        snapshots.give(new BasicBoltExecutor(to), snapshots.take(new BasicBoltExecutor(from)));
        assertEquals(Map.of("word", 7L), ((Counting) to).counts);
        assertEquals(7, to.number);
        assertNotSame(((Counting) from).counts, ((Counting) to).counts);
    }

    @Test
    void aTrialChangesNothingOfWhatIsTakenAfterIt() throws Exception {
        Snapshots snapshots = new Snapshots("fields:counts,number", conf);
        Both from = both(7);
        ((Counting) from).counts.put("longer than what is taken later", 3L);
        byte[] trial = snapshots.take(new BasicBoltExecutor(from));
        byte[] kept = trial.clone();
        ((Counting) from).counts.remove("longer than what is taken later");
        byte[] taken = snapshots.take(new BasicBoltExecutor(from));
        assertArrayEquals(kept, trial);
        for (int i = 0; i < 2; i++) {
            snapshots.prepare();
            Both to = both(1);
            snapshots.give(new BasicBoltExecutor(to), taken);
            assertEquals(Map.of("word", 7L), ((Counting) to).counts);
        }
    }

    @Test
    void aBoltMayHandItsStateOverItself() throws Exception {
        Snapshots snapshots = new Snapshots("movable", conf);
        Own to = new Own();
        snapshots.give(to, new byte[] {3});
        assertArrayEquals(new byte[] {3}, snapshots.take(to));
        assertEquals(0, new Snapshots("stateless", conf).take(new BasicBoltExecutor(both(7))).length);
    }

    @Test
    void aStateThatCannotBeHadIsSaidToBeSo() {
        assertSays("has no field count", "fields:count");
        conf.put(Config.TOPOLOGY_FALL_BACK_ON_JAVA_SERIALIZATION, false);
        assertSays("cannot be taken", "fields:thread");
        assertSays("cannot be taken", "movable"); // which it is not
        conf.put(Snapshots.MOST, 0);
        assertSays("more than the 0 bytes of headworks.seats.state.mb", "fields:counts");
    }

    static final class Hoard extends Counting {
        private static final long serialVersionUID = 1L;
        private final List<byte[]> lines = new ArrayList<>(Collections.nCopies(4_000, new byte[1 << 20]));
    }

    @Test
    void aStateThatIsLargerThanTheHeapIsRefusedBeforeItFillsIt() {
        String said = assertThrows(SnapshotException.class,
            () -> new Snapshots("fields:lines", conf).take(new BasicBoltExecutor(new Hoard()))).getMessage();
        assertEquals("its state has more than the 67108864 bytes of headworks.seats.state.mb", said);
    }

    @Test
    void aWorkerWithoutMemoryForASnapshotLivesOn() {
        Own full = new Own() {
            private static final long serialVersionUID = 1L;

            @Override
            public byte[] snapshot() {
                throw new OutOfMemoryError("Java heap space");
            }
        };
        String said = assertThrows(SnapshotException.class, () -> new Snapshots("movable", conf).take(full)).getMessage();
        assertEquals("its state (movable) cannot be taken: java.lang.OutOfMemoryError: Java heap space", said);
    }

    /** Kryo writes it, and cannot make one when it reads. */
    static final class Mean {
        private final double sum;

        Mean(double sum) {
            this.sum = sum;
        }
    }

    static final class Means extends Counting {
        private static final long serialVersionUID = 1L;
        private transient Map<String, Mean> means = new HashMap<>();
        private transient List<String> tasks = new ArrayList<>(List.of("from the context"));
        private transient long[] sums = {1, 2};
        private transient int number;
    }

    private String refused(String state, IBolt bolt, Census census) {
        return assertThrows(SnapshotException.class, () -> new Snapshots(state, conf).attempt(bolt, census)).getMessage();
    }

    @Test
    void aStateThatCanBeWrittenAndNotReadIsRefusedBeforeAMove() throws Exception {
        conf.put(Config.TOPOLOGY_KRYO_REGISTER, List.of(Mean.class.getName()));
        Means means = new Means();
        IBolt bolt = new BasicBoltExecutor(means);
        Census census = Census.of(bolt);
        new Snapshots("fields:means", conf).attempt(bolt, census);
        means.means.put("word", new Mean(1));
        assertTrue(new Snapshots("fields:means", conf).take(bolt).length > 0);
        String said = refused("fields:means", bolt, census);
        assertTrue(said.startsWith("its state (fields:means) can be written and not be read again: "), said);
    }

    @Test
    void aFieldThatChangedAndIsNotNamedIsRefusedByName() throws Exception {
        Means means = new Means();
        IBolt bolt = new BasicBoltExecutor(means);
        Census census = Census.of(bolt);
        Snapshots snapshots = new Snapshots("fields:counts", conf);
        snapshots.attempt(bolt, census);
        ((Counting) means).counts.put("word", 1L);
        snapshots.attempt(bolt, census);
        means.means.put("word", new Mean(1));
        means.sums[1]++;
        means.number++;
        assertEquals("its bolt keeps means, sums, number, which changed since it was prepared, and which fields:counts does not "
            + "name", refused("fields:counts", bolt, census));
        new Snapshots("stateless", conf).attempt(bolt, census);
    }

    private void assertSays(String said, String state) {
        Snapshots snapshots = new Snapshots(state, conf);
        String message = assertThrows(SnapshotException.class,
            () -> snapshots.take(new BasicBoltExecutor(both(7)))).getMessage();
        assertTrue(message.contains(said), message);
    }
}
