package headworks.storm.seats;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The hand-over of one seat on Storm: its messages are tuples, its effects those of the seat's bolt and collector. */
final class SeatHandover implements Arrivals, Effects<TupleImpl> {
    private static final Logger LOG = LoggerFactory.getLogger(SeatHandover.class);
    /** With more, what is due waits longer while tuples come without a break; with less, each tuple costs more. */
    private static final int LOOK = 256;
    /**
     * Times that a state is in memory as it comes: as Storm reads it, in its message, and in the bolt. With fewer, Storm runs out
     * of memory, which ends a worker; with more, a task does not move to a worker that could take it.
     */
    private static final int COPIES = 3;

    final int task;
    final String component;
    final int index;
    private final Snapshots snapshots;
    private final SeatBolt seat;
    private final TopologyContext context;
    private final OutputCollector out;
    private final Emission emission;
    private final Handover<TupleImpl> handover;
    /** What other threads want done, in the order of asking. */
    private final Queue<Runnable> orders = new ConcurrentLinkedQueue<>();
    private volatile SeatStatus status = SeatStatus.NONE;
    private int tuples;
    private volatile String taker = Entry.NO_LIFE;
    private volatile String why = "";
    private boolean prepared;
    private long gaveAt;
    private long pauseMicros = -1;

    /**
     * Begin as the ledger says.
     *
     * @param task of the seat
     * @param worker of the seat
     * @param entry the entry of a task in the ledger, by component and index
     */
    SeatHandover(SeatBolt seat, int task, SeatWorker worker, BiFunction<String, Integer, Entry> entry) {
        this.seat = seat;
        this.task = task;
        context = seat.context();
        out = seat.collector();
        emission = worker.emission(task);
        component = context.getThisComponentId();
        snapshots = new Snapshots(worker.seating.components().get(component).state, seat.conf());
        index = worker.ids.seats(component).index(task);
        Upstream upstream = new Upstream(worker, context);
        handover = new Handover<>(task, upstream.sources, upstream.current, entry.apply(component, index), worker.limits, this);
        publish();
    }

    @Override
    public void arrive(TupleImpl tuple) {
        if (Seating.STREAM.equals(tuple.getSourceStreamId())) {
            message(tuple);
        } else if (tuple.getSourceTask() >= 0) {
            handover.tuple(tuple.getSourceTask(), tuple);
        } else if (seat.resident() != null) {
            seat.resident().execute(tuple); // of Storm's own
        }
        if (!orders.isEmpty() || (++tuples & LOOK - 1) == 0) {
            look();
        }
    }

    private void message(TupleImpl carrier) {
        long under = SeatMessage.under(carrier);
        Message<TupleImpl> message = SeatMessage.read(carrier, context);
        if (message.kind == Message.Kind.RECEIVED && gaveAt != 0) {
            pauseMicros = (now() - gaveAt) / 1_000;
            gaveAt = 0;
        }
        if (under == SeatMessage.DIRECT) {
            handover.direct(message);
        } else {
            handover.forwarded(under, message);
        }
        if (message.kind != Message.Kind.TUPLE) {
            out.ack(carrier);
            look();
        }
    }

    @Override
    public void tick(TupleImpl tick) {
        handover.tick(tick);
    }

    @Override
    public boolean owns() {
        return handover.owner();
    }

    /** While there is nothing to execute; on the executor's thread. */
    @Override
    public void idle() {
        look();
    }

    private void look() {
        for (Runnable order = orders.poll(); order != null; order = orders.poll()) {
            order.run();
        }
        emission.poll();
        handover.expire();
        publish();
        boolean busy = handover.owner() || prepared || !status.settled || handover.held() > 0;
        seat.settle(busy);
    }

    private void publish() {
        SeatStatus old = status;
        boolean same = old.settled && old.owner == handover.owner() && old.epoch == handover.epoch()
            && old.held == handover.held() && old.forwarded == handover.forwarded()
            && old.disordered == handover.disordered() && old.pauseMicros == pauseMicros;
        if (!same) {
            status = new SeatStatus(handover.owner(), handover.epoch(), handover.handing(), handover.settled(),
                handover.held(), handover.forwarded(), handover.disordered(), pauseMicros);
        }
    }

    /** As the executor last saw it. */
    SeatStatus status() {
        return status;
    }

    /** Have the executor look whether something has changed; from any thread. */
    void nudge() {
        seat.unpark();
    }

    /**
     * Make the bolt ready before it is given the task; from any thread.
     *
     * @param size bytes of the state that comes with it
     * @param answer told why not, null if it is ready; on the executor's thread
     */
    void prepare(long size, Consumer<String> answer) {
        order(() -> answer.accept(ready(size)));
    }

    private String ready(long size) {
        if (!handover.settled()) {
            return "its seat there still passes on what comes for it: wait until it is settled";
        }
        if (!Heap.hasRoom(COPIES * size)) {
            return "the other worker has less memory than " + COPIES + " times its state of " + size + " bytes";
        }
        if (!prepared && !handover.owner()) {
            try {
                seat.occupy();
                snapshots.prepare();
                prepared = true;
            } catch (RuntimeException | LinkageError failed) {
                return "its bolt cannot be prepared there: " + failed;
            }
        }
        return null;
    }

    /**
     * Take a snapshot for a trial, before a move; from any thread.
     *
     * @param answer told how many bytes it has, and why not, null if the state can be had; on any thread
     */
    void attempt(BiConsumer<Long, String> answer) {
        order(() -> {
            try {
                attempted(answer);
            } catch (SnapshotException failed) {
                answer.accept(0L, failed.getMessage());
            }
        });
    }

    private void attempted(BiConsumer<Long, String> answer) throws SnapshotException {
        if (!handover.owner() || !handover.settled()) {
            answer.accept(0L, "its last move is not settled");
            return;
        }
        byte[] content = snapshots.attempt(seat.resident().bolt, seat.resident().census());
        long size = content.length;
        if (snapshots.movable()) {
            seat.rehearse(bolt -> snapshots.give(bolt, content), why -> answer.accept(size, why));
        } else {
            answer.accept(size, null);
        }
    }

    /** The task does not come after all; from any thread. */
    void dismiss() {
        order(() -> {
            if (prepared && !handover.owner()) {
                left();
            }
        });
    }

    /** Give the task to the seat that the ledger names; from any thread. */
    void give(Entry entry) {
        order(() -> {
            long began = now();
            if (handover.give(entry.seat, entry.epoch) && !handover.owner()) {
                gaveAt = began;
                taker = entry.life;
            }
        });
    }

    /** Want the task back; from any thread. */
    void revoke(String why) {
        order(() -> handover.revoke(why));
    }

    /** Life of the worker to which the task was last given. */
    String taker() {
        return taker;
    }

    /** Why the task has stayed, the last time. */
    String why() {
        return why;
    }

    /** Pass on what waits for a state that does not come; from any thread. */
    void follow(int owner, long epoch) {
        order(() -> handover.follow(owner, epoch));
    }

    /** Own without the state that nobody has any more; from any thread. */
    void adopt(long epoch) {
        order(() -> {
            if (handover.epoch() < epoch) {
                inhabit();
                handover.adopt(epoch);
            }
        });
    }

    /** Own under a new number what this seat owns already; from any thread. */
    void renumber(long epoch) {
        order(() -> {
            if (handover.owner()) {
                handover.adopt(epoch);
            }
        });
    }

    private void order(Runnable order) {
        orders.add(order);
        seat.unpark();
    }

    private void inhabit() {
        if (seat.resident() == null) {
            seat.occupy();
        }
        prepared = false;
    }

    @Override
    public void execute(TupleImpl tuple) {
        seat.resident().execute(tuple);
    }

    @Override
    public void send(int to, long under, Message<TupleImpl> message) {
        if (message.answers()) {
            publish(); // whoever acts on this one must not find the status of before
        }
        synchronized (emission) {
            if (message.kind == Message.Kind.TUPLE) {
                out.emitDirect(to, Seating.STREAM, message.tuple, SeatMessage.values(index, under, message));
                out.ack(message.tuple);
            } else {
                out.emitDirect(to, Seating.STREAM, SeatMessage.values(index, under, message));
            }
        }
    }

    @Override
    public void end(int next) {
        Message<TupleImpl> end = Message.end(task, next);
        emission.each(to -> out.emitDirect(to, Seating.STREAM, SeatMessage.values(index, SeatMessage.DIRECT, end)));
    }

    @Override
    public byte[] snapshot() throws SnapshotException {
        return snapshots.take(seat.resident().bolt);
    }

    @Override
    public void restore(byte[] content) throws SnapshotException {
        try {
            inhabit();
            snapshots.give(seat.resident().bolt, content);
        } catch (Exception | Error failed) { // if this ended the worker, its neighbours would lose their states
            left();
            LOG.warn("The state of {}/{} cannot be taken here: the task stays where it is", component, index, failed);
            throw new SnapshotException("the other worker cannot take its state: " + failed, failed);
        }
    }

    @Override
    public void left() {
        prepared = false;
        if (seat.resident() != null) {
            seat.leave();
        }
    }

    @Override
    public void kept(String reason) {
        why = reason;
        gaveAt = 0;
    }

    @Override
    public long bytes(TupleImpl tuple) {
        return SeatMessage.bytes(tuple);
    }

    @Override
    public long now() {
        return System.nanoTime();
    }

    /** Let an emitter mark the path that it leaves. */
    static void mark(Emission emission, OutputCollector out) {
        int task = emission.task();
        emission.onDeparture((component, index, from, epoch) -> out.emitDirect(from, Seating.STREAM,
            SeatMessage.values(index, SeatMessage.DIRECT, Message.mark(task, epoch))));
    }
}
