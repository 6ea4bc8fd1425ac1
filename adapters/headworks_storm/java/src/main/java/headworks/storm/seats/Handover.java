package headworks.storm.seats;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The hand-over of a logical task from seat to seat, as one of its seats runs it: a state machine without I/O.
 *
 * <p>Ownership is a token that travels with the state, on channels that are FIFO. The owner executes; a seat that gave
 * ownership on forwards all that still comes. So it costs a tuple one more hop if its source does not know the newest
 * owner, and none is lost.
 *
 * <p>Until the other seat has answered, all that comes waits, and nothing else has happened: if that seat cannot take the
 * state, the task stays. Such an answer may be of an earlier life of the seat. So the task is then wanted back by a STATE
 * without a state, and whoever lives there says whether the task has come.
 *
 * <p>Order is that of Storm without moves, for each source and logical task, as two things are waited for: what a source
 * sends here itself waits for the MARK on its path before ({@link Gates}), and what the new seat of a source sends waits
 * for the END of the old one ({@link Turns}).
 *
 * <p>Only the thread of the seat's executor may call it.
 *
 * @param <T> tuples
 */
final class Handover<T> {
    /** In place of an ownership, for what a task upstream sent to this seat itself. */
    private static final long DIRECT = -1;

    private final int self;
    private final Limits limits;
    private final Effects<T> effects;
    private final Held<T> atGates;
    private final Held<T> inTurn;
    private final Gates<T> gates;
    private final Turns<T> turns;
    /** What came under ownerships whose STATE this seat does not have. */
    private final List<Came<T>> early = new ArrayList<>();
    /** What came while the task is offered. */
    private final List<Came<T>> meanwhile = new ArrayList<>();
    private long meanwhileBytes;
    /** The last tick that came while the task is handed over; null if none did. */
    private T meanwhileTick;

    private boolean owner;
    /** True if the ledger names this seat as the owner since it began, and it has no STATE yet. */
    private boolean awaiting;
    /** True from STATE until it is answered, or too much waits: nothing is executed, and nothing passed on. */
    private boolean offering;
    /** Of the ownership that this seat has, or has given. */
    private long epoch;
    /** Who was given ownership; for an owner, who could not be given it. */
    private int next;
    /** When ownership last came or went. */
    private long since;
    /** The STATE that is not acknowledged. */
    private Message<T> unacknowledged;
    /** Why the task is wanted back. */
    private String why;
    /** The last ownership that this seat had without a state. */
    private long returned = -1;
    private long sent;
    private long forwarded;
    private long disordered;

    private static final class Came<T> {
        /** The ownership under which another seat sent it, or {@link #DIRECT}. */
        final long under;
        final Message<T> message;

        Came(long under, Message<T> message) {
            this.under = under;
            this.message = message;
        }
    }

    /**
     * Make the seat that a ledger tells of.
     *
     * @param self its physical task
     * @param sources the physical tasks upstream
     * @param current by logical task upstream, the physical task that is its owner now
     * @param entry who owns this logical task now, this seat or another
     */
    Handover(int self, Sources sources, int[] current, Entry entry, Limits limits, Effects<T> effects) {
        this.self = self;
        this.limits = limits;
        this.effects = effects;
        this.atGates = new Held<>(effects);
        this.inTurn = new Held<>(effects);
        this.gates = new Gates<>(sources, atGates, this::pass);
        this.turns = new Turns<>(sources, current, inTurn, message -> effects.execute(message.tuple));
        this.since = effects.now();
        this.awaiting = entry.awaits(self);
        this.owner = entry.seat == self && !awaiting;
        this.epoch = awaiting ? entry.epoch - 1 : entry.epoch;
        this.next = owner ? Message.NOBODY : awaiting ? entry.holder : entry.seat;
        if (owner) {
            gates.begin(epoch);
        } else if (!awaiting) { // else all gates stay shut until the STATE has come
            gates.give(epoch);
        }
    }

    /** Take a tuple that a task upstream sent to this seat itself. */
    void tuple(int source, T tuple) {
        if (owner && gates.open(source) && turns.open(source)) {
            effects.execute(tuple);
        } else {
            direct(Message.tuple(source, tuple));
        }
    }

    /** Take a tick: it is executed where the task lives, after the answer if the task is handed over and stays. */
    void tick(T tick) {
        if (owner) {
            effects.execute(tick);
        } else if (handing()) {
            meanwhileTick = tick; // its state is copied: what it emitted now, it would emit there again
        }
    }

    /** Take a MARK or an END that a task upstream sent to this seat itself. */
    void direct(Message<T> message) {
        if (offering) {
            hold(DIRECT, message);
        } else {
            gates.take(message);
        }
    }

    private void hold(long under, Message<T> message) {
        meanwhile.add(new Came<>(under, message));
        meanwhileBytes += message.kind == Message.Kind.TUPLE ? effects.bytes(message.tuple) : 0;
    }

    /** Take what another seat of this logical task sent under an ownership. */
    void forwarded(long under, Message<T> message) {
        if (message.kind == Message.Kind.STATE) {
            install(message);
        } else if (message.answers()) {
            answered(message);
        } else if (under > epoch || awaiting && next == Message.NOBODY) { // else there is nobody to pass it on to
            early.add(new Came<>(under, message));
        } else if (offering) {
            hold(under, message);
        } else {
            pass(message);
        }
    }

    /**
     * Give ownership to another seat, or keep it under the epoch after that if there is no snapshot.
     *
     * @return false if nothing is done: this seat does not own, or its ownership is as new as this
     */
    boolean give(int to, long as) {
        if (!owner || as <= epoch || to == self) {
            return false;
        }
        try {
            State state = new State(effects.snapshot(), turns.snapshot());
            become(false, as, to);
            offering = true;
            hand(Message.state(self, as, state));
        } catch (SnapshotException failed) {
            keep(to, as, failed.getMessage());
            hand(Message.state(self, as, null));
            tellMarks(as);
        }
        return true;
    }

    /** Want the task back, unless the seat to which it is given has it: that is to say so. */
    void revoke(String reason) {
        if (!owner && unacknowledged != null && unacknowledged.state != null) {
            why = reason;
            hand(Message.state(self, epoch, null));
        }
    }

    /** Send the other seat all that is its own from now on. */
    private void part() {
        offering = false;
        effects.end(next);
        turns.clear().forEach(this::forward);
        gates.marks(epoch).forEach(this::forward); // they came behind what waited for its turn
        gates.give(epoch);
        release();
    }

    /** Stay the owner; what comes to the seat that was to own comes here by way of it. */
    private void keep(int to, long as, String reason) {
        become(true, as + 1, to);
        gates.keep(as, as + 1);
        effects.kept(reason);
    }

    private void tellMarks(long as) {
        gates.marks(as).forEach(this::tellKept);
    }

    /** Own without a STATE, as nobody else has one: false if this seat knows of an ownership as new as this. */
    boolean adopt(long as) {
        if (as <= epoch) {
            return false;
        }
        own(as);
        return true;
    }

    /** Pass on to the owner what waits for a STATE that nobody sends any more: false if nothing is done. */
    boolean follow(int to, long as) {
        if (owner || unacknowledged != null || as < epoch) {
            return false;
        }
        become(false, as, to);
        gates.give(as);
        gates.flush();
        release();
        return true;
    }

    private void install(Message<T> message) {
        if (message.epoch > epoch && message.state == null) {
            returned = message.epoch;
            become(false, message.epoch + 1, message.source);
            leave();
            gates.pass(message.epoch, epoch);
            release();
        } else if (message.epoch > epoch) {
            try {
                restore(message.state);
            } catch (SnapshotException failed) {
                answer(message, Message.refused(self, message.epoch, failed.getMessage()));
                return;
            }
            own(message.epoch);
        }
        answer(message, message.epoch == returned ? Message.returned(self, returned) : Message.received(self, message.epoch));
    }

    private void restore(State state) throws SnapshotException {
        if (!owner && unacknowledged != null) {
            throw new SnapshotException("its seat there still gives it away", null); // and may have to keep it
        }
        effects.restore(state.content);
        turns.restore(state.turns);
    }

    private void answer(Message<T> state, Message<T> answer) {
        effects.send(state.source, state.epoch, answer);
    }

    private void own(long as) {
        become(true, as, Message.NOBODY);
        gates.own(as);
        release();
    }

    private void become(boolean owner, long epoch, int next) {
        this.owner = owner;
        this.epoch = epoch;
        this.next = next;
        awaiting = false;
        offering = false;
        since = effects.now();
        unacknowledged = null;
    }

    private void release() {
        List<Came<T>> waited = new ArrayList<>(meanwhile);
        waited.addAll(early);
        meanwhile.clear();
        meanwhileBytes = 0;
        early.clear();
        for (Came<T> each : waited) {
            if (each.under == DIRECT) {
                direct(each.message);
            } else {
                forwarded(each.under, each.message);
            }
        }
        if (owner && meanwhileTick != null) {
            effects.execute(meanwhileTick);
            meanwhileTick = null;
        }
    }

    private void hand(Message<T> state) {
        unacknowledged = state;
        sent = effects.now();
        try {
            effects.send(next, state.epoch, state);
        } catch (OutOfMemoryError full) { // if this ended the worker, the state would be gone
            revoke("its worker has no memory to send its state: " + full.getMessage());
        }
    }

    /** Send STATE again, and behind it the MARKs that have come this way: whoever had them may have died. */
    private void handAgain(Message<T> state) {
        hand(state);
        if (!offering) {
            gates.marks(state.epoch).forEach(owner ? this::tellKept : this::forward);
        }
    }

    private void answered(Message<T> answer) {
        if (unacknowledged == null || answer.epoch < unacknowledged.epoch) {
            return; // of an ownership before
        }
        if (answer.kind == Message.Kind.REFUSED) {
            revoke(answer.why);
        } else if (answer.kind == Message.Kind.RETURNED && !owner) {
            long as = epoch;
            keep(next, as, why);
            tellMarks(as);
            release();
        } else {
            acknowledged();
        }
    }

    private void acknowledged() {
        unacknowledged = null;
        if (offering) {
            part();
        }
        if (!owner) {
            leave();
        }
    }

    private void leave() {
        meanwhileTick = null;
        effects.left();
    }

    /** Take what comes in the order in which its source sent it to this logical task. */
    private void pass(Message<T> message) {
        if (message.kind == Message.Kind.MARK) {
            mark(message);
        } else if (owner) {
            turns.take(message);
        } else {
            forward(message);
        }
    }

    private void mark(Message<T> message) {
        if (gates.isNew(message)) {
            if (!owner) {
                forward(message);
            } else if (next != Message.NOBODY && message.epoch <= epoch) { // a later one is of the next move
                tellKept(message);
            }
        }
        gates.mark(message.source, message.epoch);
    }

    /** Tell the seat that could not be given ownership of a MARK that came here instead. */
    private void tellKept(Message<T> mark) {
        effects.send(next, epoch - 1, mark);
    }

    private void forward(Message<T> message) {
        forwarded++;
        effects.send(next, epoch, message);
    }

    /** Do what is due by now: send STATE again, and wait no longer for what does not come. */
    void expire() {
        long now = effects.now();
        if (unacknowledged != null && now - sent >= limits.resend) {
            handAgain(unacknowledged);
        }
        if (owner && now - since >= limits.settle) {
            gates.force();
        }
        boolean full = full();
        if (offering && full) {
            part();
        } else if (offering) {
            return;
        }
        due(atGates, full ? now : now - limits.mark).forEach(this::forceGate);
        due(inTurn, full ? now : now - limits.end).forEach(this::forceTurn);
    }

    private boolean full() {
        return atGates.bytes() + inTurn.bytes() + meanwhileBytes > limits.bytes
            || atGates.count() + inTurn.count() + meanwhile.size() > limits.messages;
    }

    /** Sources of which something waits since a moment or longer, and since ownership came; the oldest first. */
    private List<Integer> due(Held<T> held, long moment) {
        if (held.isEmpty()) { // an idle executor comes here each millisecond
            return List.of();
        }
        List<Integer> due = held.sources();
        due.removeIf(source -> Math.max(held.since(source), since) - moment > 0);
        due.sort(Comparator.comparingLong(held::since));
        return due;
    }

    private void forceGate(int source) {
        if (gates.force(source)) {
            disordered++;
        }
    }

    private void forceTurn(int source) {
        if (inTurn.has(source)) { // else an END has come with what waited before
            disordered++;
            turns.force(source);
        }
    }

    boolean owner() {
        return owner;
    }

    /** Of the ownership that this seat has, or has given. */
    long epoch() {
        return epoch;
    }

    /** True if the task may move again, from this seat or to it: nothing of the last move is under way any more. */
    boolean settled() {
        boolean quiet = early.isEmpty() && unacknowledged == null && !awaiting;
        return quiet && (gates.marked(epoch) || effects.now() - since >= limits.settle);
    }

    /** True until the seat that was given ownership has acknowledged it. */
    boolean handing() {
        return unacknowledged != null;
    }

    /** Messages that wait. */
    int held() {
        return atGates.count() + inTurn.count() + early.size() + meanwhile.size();
    }

    /** Messages that were passed on to the seat which owns. */
    long forwarded() {
        return forwarded;
    }

    /** Times that a MARK or an END was waited for no longer. */
    long disordered() {
        return disordered;
    }
}
