package headworks.storm.seats;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;

/**
 * Messages of the hand-over as tuples of {@link Seating#STREAM}: kind, logical index, ownership under which another seat
 * sends it, source, stream and values; only classes that Storm's serialiser knows.
 */
final class SeatMessage {
    /** In place of an ownership, for what a task upstream sends itself. */
    static final long DIRECT = -1;

    private static final Message.Kind[] KINDS = Message.Kind.values();
    private static final int KIND = 0;
    private static final int EPOCH = 2;
    private static final int SOURCE = 3;
    private static final int STREAM = 4;
    private static final int VALUES = 5;

    /** About the memory of a tuple without its values, and of a value without what it holds. */
    private static final int TUPLE_BYTES = 128;
    private static final int VALUE_BYTES = 48;

    private SeatMessage() {
    }

    /**
     * The values of the tuple that carries a message.
     *
     * @param index of the logical task
     * @param under the ownership under which it is sent, or {@link #DIRECT}
     */
    static Values values(int index, long under, Message<TupleImpl> message) {
        boolean tuple = message.kind == Message.Kind.TUPLE;
        String stream = tuple ? message.tuple.getSourceStreamId() : "";
        return new Values(message.kind.ordinal(), index, under, message.source, stream, content(message));
    }

    private static List<Object> content(Message<TupleImpl> message) {
        List<Object> content = new ArrayList<>();
        if (message.kind == Message.Kind.TUPLE) {
            content.addAll(message.tuple.getValues()); // a list of a class that the serialiser may not know
        } else {
            content.add(message.epoch);
            content.add(message.next);
            if (message.why != null) {
                content.add(message.why);
            }
            if (message.state != null) {
                content.add(message.state.content);
                content.add(Arrays.stream(message.state.turns).boxed().collect(Collectors.toCollection(ArrayList::new)));
            }
        }
        return content;
    }

    /** The ownership under which a message was sent, or {@link #DIRECT}. */
    static long under(TupleImpl carrier) {
        return carrier.getLong(EPOCH);
    }

    /** The message that a tuple carries. */
    @SuppressWarnings("unchecked")
    static Message<TupleImpl> read(TupleImpl carrier, GeneralTopologyContext context) {
        Message.Kind kind = KINDS[carrier.getInteger(KIND)];
        int source = carrier.getInteger(SOURCE);
        List<Object> content = (List<Object>) carrier.getValue(VALUES);
        if (kind == Message.Kind.TUPLE) {
            return Message.tuple(source, inner(carrier, source, content, context));
        }
        long epoch = ((Number) content.get(0)).longValue();
        switch (kind) {
            case MARK:
                return Message.mark(source, epoch);
            case END:
                return Message.end(source, ((Number) content.get(1)).intValue());
            case RECEIVED:
                return Message.received(source, epoch);
            case REFUSED:
                return Message.refused(source, epoch, (String) content.get(2));
            case RETURNED:
                return Message.returned(source, epoch);
            default:
                return Message.state(source, epoch, content.size() < 4 ? null : state(content));
        }
    }

    @SuppressWarnings("unchecked")
    private static State state(List<Object> content) {
        List<Number> turns = (List<Number>) content.get(3);
        return new State((byte[]) content.get(2), turns.stream().mapToInt(Number::intValue).toArray());
    }

    /** The tuple as it was sent first; acknowledged in place of the one that carried it. */
    private static TupleImpl inner(TupleImpl carrier, int source, List<Object> values, GeneralTopologyContext context) {
        TupleImpl tuple = new TupleImpl(context, values, context.getComponentId(source), source,
            carrier.getString(STREAM), carrier.getMessageId());
        Long process = carrier.getProcessSampleStartTime();
        if (process != null) {
            tuple.setProcessSampleStartTime(process);
        }
        Long execute = carrier.getExecuteSampleStartTime();
        if (execute != null) {
            tuple.setExecuteSampleStartTime(execute);
        }
        return tuple;
    }

    /** About the memory that a tuple takes. */
    static long bytes(TupleImpl tuple) {
        long bytes = TUPLE_BYTES;
        for (Object value : tuple.getValues()) {
            bytes += VALUE_BYTES;
            if (value instanceof String) {
                bytes += ((String) value).length();
            } else if (value instanceof byte[]) {
                bytes += ((byte[]) value).length;
            }
        }
        return bytes;
    }
}
