package headworks.storm.seats;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The hand-over of a logical task from seat to seat, as one of its seats runs it: a state machine without I/O.
 *
 * <p>Ownership is a token that travels with the state, on channels that are FIFO. The owner executes; a seat that gave
 * ownership on forwards all that still comes. So it costs a tuple one more hop if its source does not know the newest
 * owner, and none is lost. Order is that of Storm without moves, for each source and logical task, as two things are
 * waited for: what a source sends here itself waits for the MARK on its path before ({@link Gates}), and what the new
 * seat of a source sends waits for the END of the old one ({@link Turns}).
 *
 * <p>Only the thread of the seat's executor may call it.
 *
 * @param <T> tuples
 */
final class Handover<T> {
    private final int self;
    private final Limits limits;
    private final Effects<T> effects;
    private final Held<T> atGates;
    private final Held<T> inTurn;
    private final Gates<T> gates;
    private final Turns<T> turns;
    /** What came under ownerships whose STATE this seat does not have. */
    private final List<Forwarded<T>> early = new ArrayList<>();

    private boolean owner;
    /** True if the ledger names this seat as the owner since it began, and it has no STATE yet. */
    private boolean awaiting;
    /** Of the ownership that this seat has, or has given. */
    private long epoch;
    /** Who was given ownership; for an owner, who could not be given it. */
    private int next;
    /** When ownership last came or went. */
    private long since;
    /** The STATE that is not acknowledged. */
    private Message<T> unacknowledged;
    private long sent;
    private long forwarded;
    private long disordered;

    private static final class Forwarded<T> {
        final long epoch;
        final Message<T> message;

        Forwarded(long epoch, Message<T> message) {
            this.epoch = epoch;
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
            gates.take(Message.tuple(source, tuple));
        }
    }

    /** Take a MARK or an END that a task upstream sent to this seat itself. */
    void direct(Message<T> message) {
        gates.take(message);
    }

    /** Take what another seat of this logical task sent under an ownership. */
    void forwarded(long under, Message<T> message) {
        if (message.kind == Message.Kind.STATE) {
            install(message);
        } else if (message.kind == Message.Kind.RECEIVED) {
            acknowledged(message.epoch);
        } else if (under > epoch || awaiting && next == Message.NOBODY) { // else there is nobody to pass it on to
            early.add(new Forwarded<>(under, message));
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
            give(to, as, new State(effects.snapshot(), turns.snapshot()));
        } catch (SnapshotException failed) {
            keep(to, as);
        }
        return true;
    }

    private void give(int to, long as, State state) {
        effects.end(to);
        become(false, as, to);
        hand(Message.state(self, as, state));
        turns.clear().forEach(this::forward);
        gates.marks(as).forEach(this::forward); // they came behind what waited for its turn
        gates.give(as);
    }

    /** Stay the owner; what comes to the seat that was to own comes here by way of it. */
    private void keep(int to, long as) {
        gates.keep(as, as + 1);
        become(true, as + 1, to);
        hand(Message.state(self, as, null));
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
        if (owner || unacknowledged != null || as <= epoch) {
            return false;
        }
        become(false, as, to);
        gates.give(as);
        release();
        return true;
    }

    private void install(Message<T> message) {
        if (message.epoch > epoch && message.state == null) {
            become(false, message.epoch + 1, message.source);
            gates.pass(message.epoch, epoch);
            release();
        } else if (message.epoch > epoch) {
            effects.restore(message.state.content);
            turns.restore(message.state.turns);
            own(message.epoch);
        }
        effects.send(message.source, message.epoch, Message.received(self, message.epoch));
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
        since = effects.now();
        unacknowledged = null;
    }

    private void release() {
        List<Forwarded<T>> waited = new ArrayList<>(early);
        early.clear();
        waited.forEach(each -> forwarded(each.epoch, each.message));
    }

    private void hand(Message<T> state) {
        unacknowledged = state;
        sent = effects.now();
        effects.send(next, state.epoch, state);
    }

    /** Send STATE again, and behind it the MARKs that have come this way: whoever had them may have died. */
    private void handAgain(Message<T> state) {
        hand(state);
        gates.marks(state.epoch).forEach(owner ? this::tellKept : this::forward);
    }

    private void acknowledged(long epoch) {
        if (unacknowledged != null && epoch >= unacknowledged.epoch) {
            unacknowledged = null;
        }
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
        boolean full = atGates.bytes() + inTurn.bytes() > limits.bytes;
        due(atGates, full ? now : now - limits.mark).forEach(this::forceGate);
        due(inTurn, full ? now : now - limits.end).forEach(this::forceTurn);
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
        return atGates.count() + inTurn.count() + early.size();
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
