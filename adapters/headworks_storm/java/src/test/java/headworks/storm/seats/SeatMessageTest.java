package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.serialization.KryoTupleDeserializer;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.MessageId;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;
import org.junit.jupiter.api.Test;

/** Messages as Storm carries them from worker to worker, without Java's serialization of what it does not know. */
class SeatMessageTest {
    private static final long UNDER = 1L << 40;

    private final Map<String, Object> conf = new HashMap<>();
    private final GeneralTopologyContext context;
    private final int spout;
    private final int seat;

    SeatMessageTest() throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("word", new TestWordSpout(), 1);
        builder.setBolt("count", new TestWordCounter(), 2).fieldsGrouping("word", new Fields("word"));
        conf.put(Transform.MOVABLE, "count=stateless");
        conf.put(Config.TOPOLOGY_WORKERS, 2);
        conf.put(Config.TOPOLOGY_FALL_BACK_ON_JAVA_SERIALIZATION, false);
        Seated seated = Seated.seated(builder.createTopology(), conf);
        conf.putAll(seated.conf);
        context = seated.worker();
        spout = seated.tasks.get("word").get(0);
        seat = seated.tasks.get("count").get(0);
    }

    private Message<TupleImpl> carried(long under, Message<TupleImpl> message) {
        TupleImpl sent = new TupleImpl(context, SeatMessage.values(1, under, message), "count", seat, Seating.STREAM,
            MessageId.makeRootId(5, 6));
        byte[] bytes = new KryoTupleSerializer(conf, context).serialize(sent);
        TupleImpl came = new KryoTupleDeserializer(conf, context).deserialize(bytes);
        assertEquals(under, SeatMessage.under(came));
        Message<TupleImpl> read = SeatMessage.read(came, context);
        assertEquals(message.kind, read.kind);
        assertEquals(message.source, read.source);
        return read;
    }

    @Test
    void aTupleIsWhatItWasAndIsAcknowledgedInPlaceOfItsCarrier() {
        List<Object> values = List.of("word"); // of a class that the serialiser does not know
        TupleImpl tuple = new TupleImpl(context, values, "word", spout, "default", MessageId.makeRootId(1, 2));
        TupleImpl read = carried(UNDER, Message.tuple(spout, tuple)).tuple;
        assertEquals(values, read.getValues());
        assertEquals(List.of("word", spout, "default"),
            List.of(read.getSourceComponent(), read.getSourceTask(), read.getSourceStreamId()));
        assertEquals("word", read.getStringByField("word"));
        assertEquals(MessageId.makeRootId(5, 6), read.getMessageId());
    }

    @Test
    void markersAndAcknowledgementsKeepTheirNumbers() {
        assertEquals(UNDER, carried(SeatMessage.DIRECT, Message.mark(spout, UNDER)).epoch);
        assertEquals(7, carried(SeatMessage.DIRECT, Message.end(seat, 7)).next);
        assertEquals(3, carried(3, Message.received(seat, 3)).epoch);
        assertEquals(4, carried(4, Message.returned(seat, 4)).epoch);
        assertEquals("no heap", carried(5, Message.refused(seat, 5, "no heap")).why);
    }

    @Test
    void aStateKeepsItsBytesAndTurns() {
        Message<TupleImpl> read = carried(4, Message.state(seat, 4, new State(new byte[] {1, -2}, new int[] {8, 9})));
        assertArrayEquals(new byte[] {1, -2}, read.state.content);
        assertArrayEquals(new int[] {8, 9}, read.state.turns);
        assertNull(carried(4, Message.state(seat, 4, null)).state);
    }

    @Test
    void aTupleTakesAboutAsMuchMemoryAsItsValues() {
        TupleImpl tuple = new TupleImpl(context, new Values("x".repeat(1000)), "word", spout, "default",
            MessageId.makeUnanchored());
        assertEquals(1176, SeatMessage.bytes(tuple));
    }
}
