package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.Constants;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.TupleImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuietTicksTest {
    private static final Map<String, Object> TICKS = Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 3);

    /** A tuple of the word spout for {@code w}, a tick for {@code t}, and for {@code s} one of the spout's by a tick's stream. */
    private static TupleImpl tuple(char kind) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("word", new TestWordSpout(), 1);
        Map<String, Map<String, Fields>> fields = Map.of(
                "word", Map.of("default", new Fields("word"), Constants.SYSTEM_TICK_STREAM_ID, new Fields("word")),
                Constants.SYSTEM_COMPONENT_ID, Map.of(Constants.SYSTEM_TICK_STREAM_ID, new Fields("rate_secs")));
        Map<Integer, String> components = Map.of(1, "word", -1, Constants.SYSTEM_COMPONENT_ID);
        GeneralTopologyContext context = new GeneralTopologyContext(
                builder.createTopology(), new HashMap<>(), components, new HashMap<>(), fields, "quiet-1");
        String stream = kind == 'w' ? "default" : Constants.SYSTEM_TICK_STREAM_ID;
        String source = kind == 't' ? Constants.SYSTEM_COMPONENT_ID : "word";
        return new TupleImpl(context, List.of(1), source, kind == 't' ? -1 : 1, stream);
    }

    /** Columns: ticks that are enough, the tuples that come, and what is held after each. */
    @ParameterizedTest
    @CsvSource({"1, ttwtt, 10110", "2, tttwttt, 1101110", "1, wtstt, 11110", "3, tttttt, 111000"})
    void isEmptyAfterSoManyTicksWithNoOtherTupleBetween(int enough, String tuples, String held) {
        QuietTicks ticks = new QuietTicks(TICKS, enough);
        StringBuilder told = new StringBuilder();
        for (char kind : tuples.toCharArray()) {
            assertEquals(kind == 't', ticks.isTick(tuple(kind)));
            told.append(ticks.held());
        }
        assertEquals(held, told.toString());
    }

    @Test
    void aBoltWithoutTicksIsToldWhatToWrite() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> new QuietTicks(Map.of(), 1));
        assertTrue(refused.getMessage().contains("topology.tick.tuple.freq.secs"));
        assertThrows(IllegalArgumentException.class, () -> new QuietTicks(TICKS, 0));
    }
}
