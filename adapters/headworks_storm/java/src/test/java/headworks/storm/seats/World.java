package headworks.storm.seats;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/**
 * Spouts, and two components whose tasks move, in random order: of deliveries, of orders to give, and of who learns
 * when of a new owner. The second component is downstream of the first, so that both ends of a path move.
 */
final class World {
    static final int HOSTS = 3;
    private static final int SPOUTS = 2;
    private static final int TASKS = 2;
    private static final int KEYS = 5;
    /** Deliveries of a message for each step; a world that has not come to rest by then never does. */
    private static final int ENDLESS = 200;
    /** Seconds after which what waits is taken to wait for ever. */
    private static final int RESTS = 500;
    /** Larger than the number of ownerships between two losses of a page. */
    private static final long LATE = 1_000_000;
    /** Has a task put out how many tuples it has executed since the last one. */
    private static final Item TICK = new Item(-1, 0, 0);

    /** A tuple: the n-th of a spout and key. */
    static final class Item {
        final int spout;
        final int key;
        final int number;

        Item(int spout, int key, int number) {
            this.spout = spout;
            this.key = key;
            this.number = number;
        }

        int flow() {
            return spout * KEYS + key;
        }
    }

    private final Random random;
    private final Rules rules;
    private final Channels channels = new Channels();
    private final Layer first = new Layer(SPOUTS);
    private final Layer second = new Layer(SPOUTS + TASKS * HOSTS);
    private final Map<Integer, Seat> seats = new HashMap<>();
    private final List<Emitter> emitters = new ArrayList<>();
    private final List<Runnable> orders = new ArrayList<>();
    private final List<Runnable> news = new ArrayList<>();
    private final int[] sent = new int[SPOUTS * KEYS];
    private final List<List<Integer>> received = new ArrayList<>();
    private final Verdict verdict = new Verdict();
    /** Lives of each worker so far. */
    private final int[] lives = new int[HOSTS];
    private final List<Integer> dead = new ArrayList<>();
    private Role killed;
    private boolean last;
    private int countdown;
    private List<Integer> victims = List.of();
    private BooleanSupplier moved = () -> true;
    private Consumer<LedgerPage> reader = page -> { };
    private long now;
    private int rests;

    World(long seed, Rules rules) {
        this.random = new Random(seed);
        this.rules = rules;
        for (int flow = 0; flow < sent.length; flow++) {
            received.add(new ArrayList<>());
        }
        List<int[]> spouts = new ArrayList<>();
        for (int spout = 0; spout < SPOUTS; spout++) {
            spouts.add(new int[] {spout});
            emitters.add(new Emitter(spout, spout, first));
        }
        first.sources = new Sources(spouts);
        second.sources = new Sources(first.seats);
        for (int host = 0; host < HOSTS; host++) {
            begin(host);
        }
    }

    /** A component: its page of the ledger, and its seats by logical task. */
    private final class Layer {
        final List<int[]> seats = new ArrayList<>();
        final Witness[] witnesses = new Witness[TASKS];
        /** Times that the ledger has told of a loss, in all of its pages; those in pages of which nobody knows any more. */
        final int[] told = new int[TASKS];
        private int[] before = new int[TASKS];
        /** What each worker has read last. */
        final LedgerPage[] known = new LedgerPage[HOSTS];
        private final LedgerPage homes;
        private long losses;
        /** Null while it is lost. */
        LedgerPage page;
        Sources sources;

        Layer(int base) {
            for (int i = 0; i < TASKS; i++) {
                int[] own = new int[HOSTS];
                Arrays.setAll(own, host -> base + own.length * seats.size() + host);
                seats.add(own);
                witnesses[i] = new Witness();
            }
            homes = LedgerPage.first(Table.of(seats.stream().mapToInt(own -> own[0]).toArray()));
            page = homes;
        }

        /** A worker that begins makes a page if there is none. */
        void open() {
            if (page == null) {
                page = rules.has(Rules.Guard.WAIT_FOR_UNKNOWN_OWNERS) ? homes.late(LATE * losses) : homes;
                before = told.clone();
            }
        }

        /** Make the seats of a worker that begins. */
        void begin(int host) {
            known[host] = null;
            change(host, old -> {
                LedgerPage begun = old;
                for (int i = 0; i < TASKS; i++) {
                    begun = begun.start(i, seats.get(i)[host], life(host), true);
                }
                return begun;
            });
            int[] current = this == first ? new int[] {0, 1} : first.known[host].table.seats();
            for (int i = 0; i < TASKS; i++) {
                int task = seats.get(i)[host];
                Seat seat = new Seat(this, i, host, this == first ? new Emitter(task, host, second) : null);
                Entry entry = page.entry(i);
                boolean waits = rules.has(Rules.Guard.WAIT_FOR_THE_STATE) || !entry.awaits(task);
                Entry seen = waits ? entry : new Entry(task, entry.epoch, task, entry.life);
                World.this.seats.put(task, seat);
                if (seen.seat == task && !seen.awaits(task)) {
                    seat.anew();
                }
                seat.handover = new Handover<>(task, sources, current, seen, rules.limits(), seat);
                seat.publish();
                if (seat.emitter != null) {
                    emitters.add(seat.emitter);
                }
            }
        }

        /** True if a task has all of its state, and the ledger says so. */
        boolean unharmed(int logical) {
            return witnesses[logical].begun == 1 && witnesses[logical].shrunk == 0 && told[logical] == 0;
        }

        void judge() {
            for (int i = 0; i < TASKS; i++) {
                Witness witness = witnesses[i];
                if (page == null) {
                    verdict.ownerless++;
                    continue;
                }
                int owner = page.entry(i).seat;
                int losses = witness.begun - 1 + witness.shrunk;
                long owners = IntStream.of(seats.get(i)).mapToObj(World.this.seats::get)
                    .filter(each -> !each.dead && each.handover.owner()).count();
                boolean gone = World.this.seats.get(owner).dead; // with a worker that never comes back
                verdict.ownerless += gone || owners == 1 && World.this.seats.get(owner).handover.owner() ? 0 : 1;
                verdict.losses += losses;
                // Of two pages that are one again, the larger count stays.
                verdict.silent += rules.losses > 0 ? told[i] > 0 ? 0 : losses : Math.max(0, losses - told[i]);
                verdict.wasted += witness.wasted;
                int fresh = exact() ? World.this.seats.get(owner).fresh : 0;
                verdict.wrongState += exact() && witness.put + fresh != witness.executed ? 1 : 0;
            }
        }

        /** A worker changes the page, if there is one; all hear of that at some time. */
        void change(int host, UnaryOperator<LedgerPage> change) {
            if (page != null) {
                write(change.apply(merged(host)));
                learn(host);
            }
        }

        /** A worker reads the page; one that is gone it writes again, and what it knows that is newer it enters. */
        private void read(int host) {
            if (page == null && rules.has(Rules.Guard.WRITE_AGAIN)) {
                boolean waits = rules.has(Rules.Guard.WAIT_FOR_OWNERS_TO_SAY);
                write(waits ? known[host].again() : wanting(wanting(known[host], 0, null), 1, null));
            }
            if (page != null) {
                write(merged(host));
                learn(host);
            }
        }

        /** True if all workers that live know the page as it is. */
        boolean allHaveRead() {
            return IntStream.range(0, HOSTS).allMatch(host -> dead.contains(host) || known[host] == page);
        }

        private LedgerPage merged(int host) {
            return known[host] == null || !rules.has(Rules.Guard.ENTER_WHAT_IS_KNOWN) ? page : page.with(known[host]);
        }

        /** Have another page, by whoever; a lost one is told of too. */
        void write(LedgerPage fresh) {
            if (fresh == page) {
                return;
            }
            for (int i = 0; fresh != null && i < TASKS; i++) {
                told[i] = Math.max(told[i], before[i] + fresh.lost(i));
            }
            losses += fresh == null ? 1 : 0;
            page = fresh;
            if (fresh != null) {
                reader.accept(fresh);
            }
            for (int host = 0; host < HOSTS; host++) {
                int reader = host;
                news.add(() -> {
                    if (!dead.contains(reader)) {
                        read(reader);
                    }
                });
            }
        }

        /** A worker has read the page; its emitters hear of new owners at some time. */
        private void learn(int host) {
            LedgerPage old = known[host];
            known[host] = page;
            Table table = page.table;
            if (old == null || !table.since(old.table).isEmpty()) {
                emitters.stream().filter(each -> each.to == this && each.host == host)
                    .forEach(each -> news.add(() -> each.learn(table)));
            }
        }

        /** Order a move, unless another one is ordered. */
        void order(int logical, int seat, long epoch) {
            if (page == null || page.entry(logical).epoch >= epoch || page.wanted(logical) != Message.NOBODY) {
                verdict.conflicts++;
            } else {
                write(wanting(page, logical, List.of(seat, epoch)));
            }
        }

        /** Take an order back. */
        void cancel(int logical) {
            if (page != null && page.wanted(logical) != Message.NOBODY) {
                write(wanting(page, logical, null));
            }
        }
    }

    /** A page with another order for a task, as it is written by who orders moves; null is none. */
    @SuppressWarnings("unchecked")
    private static LedgerPage wanting(LedgerPage page, int logical, List<Object> order) {
        Map<String, Object> said = new HashMap<>((Map<String, Object>) JSONValue.parse(page.json()));
        Map<String, Object> wanted = new HashMap<>((Map<String, Object>) said.get("wanted"));
        wanted.remove(String.valueOf(logical));
        if (order != null) {
            wanted.put(String.valueOf(logical), order);
        }
        said.put("wanted", wanted);
        return LedgerPage.read(JSONValue.toJSONString(said));
    }

    private String life(int host) {
        return rules.has(Rules.Guard.TELL_LIVES_APART) ? host + "." + lives[host] : String.valueOf(host);
    }

    /** Whose workers die in a move. */
    enum Role {
        OLD, NEW, BOTH, UPSTREAM;

        List<Integer> of(int from, int to) {
            return this == OLD ? List.of(from) : this == NEW ? List.of(to) : this == BOTH ? List.of(from, to)
                : List.of(HOSTS - from - to);
        }
    }

    /** A worker ends of what it does. */
    private static final class Deadly extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** What an outsider knows of the state of a logical task. */
    private static final class Witness {
        /** Times that it began without a state, the first one included. */
        private int begun;
        /** Tuples executed since. */
        private int executed;
        /** Tuples that were put out on ticks. */
        private int put;
        /** Times that it went on with less than it had. */
        private int shrunk;
        /** Times that it began anew while a live seat had its state. */
        private int wasted;
    }

    /** A worker begins: spouts and seats on it, by the ledger as it is now. */
    private void begin(int host) {
        lives[host]++;
        dead.remove((Integer) host);
        first.open();
        second.open();
        if (lives[host] > 1 && host < SPOUTS) {
            emitters.set(host, new Emitter(host, host, first));
        }
        first.begin(host);
        second.begin(host);
    }

    /** A worker dies: of what it sent some is still on the way. */
    private void kill(int host) {
        if (!dead.contains(host)) {
            verdict.deaths++;
            dead.add(host);
            if (host < SPOUTS) {
                end(emitters.get(host));
            }
            for (Layer layer : List.of(first, second)) {
                for (int[] own : layer.seats) {
                    seats.get(own[host]).dead = true;
                    end(seats.get(own[host]).emitter);
                    channels.cut(own[host], random);
                }
            }
        }
    }

    private void end(Emitter emitter) {
        if (emitter != null) {
            emitter.dead = true;
            channels.cut(emitter.task, random);
        }
    }

    /** The emitting side of a physical task. */
    private final class Emitter {
        final int task;
        final int host;
        final Layer to;
        private Table table;
        private boolean dead;

        Emitter(int task, int host, Layer to) {
            this.task = task;
            this.host = host;
            this.to = to;
            this.table = to.page.table;
        }

        void emit(int logical, Message<Item> message) {
            send(task, table.seat(logical), -1, message);
        }

        void learn(Table heard) {
            if (dead) {
                return;
            }
            Table newer = table;
            for (int logical = 0; logical < TASKS; logical++) {
                newer = newer.with(logical, heard.seat(logical), heard.epoch(logical));
            }
            for (int each : newer.since(table)) {
                emit(each, Message.mark(task, newer.epoch(each)));
            }
            table = newer;
        }
    }

    private final class Seat implements Effects<Item> {
        private final Layer layer;
        private final int index;
        private final int host;
        private final int task;
        private final Emitter emitter;
        private Handover<Item> handover;
        private SeatStatus status;
        /** The state: tuples of each flow that the logical task has executed; null where it does not live. */
        private int[] counts;
        /** State, too: tuples executed since the last tick. */
        private int fresh;
        private boolean dead;
        /** Life of the worker to which the task was given last. */
        private String taker = Entry.NO_LIFE;
        /** Epoch with which the task began anew here. */
        private long begun = -1;
        /** Since when something waits here that is another's; negative if nothing does. */
        private long waiting = -1;
        /** Orders that are tried, or for which this seat is made ready. */
        private final Set<String> preparing = new HashSet<>();

        Seat(Layer layer, int index, int host, Emitter emitter) {
            this.layer = layer;
            this.index = index;
            this.host = host;
            this.task = layer.seats.get(index)[host];
            this.emitter = emitter;
        }

        void publish() {
            status = new SeatStatus(handover.owner(), handover.epoch(), handover.handing(), handover.settled(),
                handover.held(), 0, 0, 0);
        }

        /** Begin without a state. */
        void anew() {
            counts = new int[SPOUTS * KEYS];
            fresh = 0;
            Witness witness = layer.witnesses[index];
            witness.begun++;
            witness.executed = 0;
            witness.wasted += IntStream.of(layer.seats.get(index)).mapToObj(seats::get).anyMatch(each ->
                each != null && !each.dead && each != this && (each.handover.owner() || each.handover.handing())) ? 1 : 0;
        }

        /** Do what the ledger asks for, as its worker does. */
        void follow() {
            LedgerPage page = layer.known[host];
            Entry entry = page.entry(index);
            Step step = Step.next(task, entry, seen(), taker);
            waiting = step == Step.FORWARD ? waiting : -1;
            if (step == Step.GIVE) {
                orders.add(() -> give(entry));
            } else if (step == Step.REVOKE && rules.has(Rules.Guard.REVOKE)) {
                orders.add(this::revoke);
            } else if (step == Step.FORWARD && rules.has(Rules.Guard.FORWARD) && waited()) {
                orders.add(() -> follow(entry));
            } else if (step == Step.RELEASE) {
                layer.change(host, old -> old.release(index, task));
            } else if (step == Step.KEEP) {
                verdict.kept++;
                layer.change(host, old -> old.stay(index, task, status.epoch, life(host), "no luck"));
            } else if (step == Step.ADOPT) {
                orders.add(() -> renumber(entry.epoch));
            } else if (step == Step.CLAIM) {
                layer.change(host, old -> old.claim(index, task, life(host)));
            } else if (step == Step.BEGIN && begun < Math.max(entry.epoch, status.epoch + 1)) {
                begin(entry);
            } else if (step == Step.AWAIT && rules.has(Rules.Guard.DESPAIR) && silent(entry.holder)) {
                layer.change(host, old -> old.forsaken(index, entry, life(host)));
            }
            ready(page, entry);
        }

        /** Do what comes before a move is entered. */
        private void ready(LedgerPage page, Entry entry) {
            int wanted = page.wanted(index);
            boolean mine = page.tried(index) ? wanted == task : wanted != Message.NOBODY && entry.seat == task;
            if (mine && preparing.add(page.tried(index) + "@" + entry.epoch)) {
                orders.add(page.tried(index) ? () -> prepare(entry.epoch + 1) : () -> attempt(entry.epoch + 1));
            }
        }

        private void attempt(long as) {
            preparing.remove("false@" + (as - 1));
            String why = handover.owner() && handover.settled() ? null : "its last move is not settled";
            if (!dead) {
                layer.change(host, old -> old.attempted(index, as, 0, why));
            }
        }

        private void prepare(long as) {
            preparing.remove("true@" + (as - 1));
            String why = handover.settled() ? null : "it still passes on what comes for it";
            if (!dead && victims.isEmpty()) {
                layer.change(host, old -> {
                    LedgerPage fresh = old.prepared(index, task, as, life(host), why);
                    if (fresh.entry(index).epoch > old.entry(index).epoch) {
                        entered(layer, index, old.entry(index).seat, task);
                    }
                    return fresh;
                });
            }
        }

        private void renumber(long epoch) {
            if (!dead && handover.owner()) {
                handover.adopt(epoch);
            }
        }

        private boolean waited() {
            waiting = waiting < 0 ? now : waiting;
            return now - waiting > 5_000;
        }

        /**
         * True if no worker tells of the seat that may have a state, or, where nobody knows which, of any that has it: that is
         * waited for longer than it takes to read a page.
         */
        private boolean silent(int holder) {
            return holder != Message.NOBODY ? seats.get(holder).dead
                : layer.allHaveRead() && IntStream.of(layer.seats.get(index)).mapToObj(seats::get)
                    .noneMatch(each -> !each.dead && (each.handover.owner() || each.handover.handing()));
        }

        private SeatStatus seen() {
            boolean handing = status.handing && rules.has(Rules.Guard.KEEP_UNTIL_ACKNOWLEDGED);
            long epoch = rules.has(Rules.Guard.RELEASE_WHAT_WAS_HAD) || status.owner ? status.epoch : Long.MAX_VALUE - 1;
            return new SeatStatus(status.owner, epoch, handing, status.settled, status.held, 0, 0, 0);
        }

        private void give(Entry entry) {
            if (!dead && handover.give(entry.seat, entry.epoch)) {
                taker = entry.life;
            }
        }

        private void revoke() {
            if (!dead) {
                handover.revoke("it died");
            }
        }

        private void follow(Entry entry) {
            if (!dead) {
                handover.follow(entry.seat, entry.epoch);
            }
        }

        private void begin(Entry entry) {
            long epoch = Step.anew(entry, status);
            Runnable enter = () -> layer.change(host, old -> old.anew(index, entry, epoch, "it died"));
            if (rules.has(Rules.Guard.ENTER_BEFORE_IT_BEGINS)) {
                enter.run();
                Entry now = layer.known[host].entry(index);
                if (now.seat != task || now.epoch != epoch) {
                    return; // somebody was faster, or the page is gone
                }
            } else {
                orders.add(dead ? () -> { } : enter);
            }
            begun = epoch;
            orders.add(() -> adopt(epoch));
        }

        private void adopt(long epoch) {
            if (!dead && handover.epoch() < epoch) {
                anew();
                handover.adopt(epoch);
            }
        }

        void deliver(Channels.Envelope envelope) {
            try {
                take(envelope);
            } catch (Deadly end) {
                kill(host);
            }
        }

        private void take(Channels.Envelope envelope) {
            if (envelope.under >= 0) {
                handover.forwarded(envelope.under, envelope.message);
            } else if (envelope.message.kind == Message.Kind.TUPLE) {
                handover.tuple(envelope.from, envelope.message.tuple);
            } else {
                handover.direct(envelope.message);
            }
        }

        @Override
        public void execute(Item item) {
            if (!handover.owner()) {
                throw new IllegalStateException("it executes what is another's");
            }
            check();
            if (item == TICK) {
                layer.witnesses[index].put += fresh;
                fresh = 0;
                return;
            }
            fresh++;
            int executed = counts[item.flow()]++;
            verdict.wrongState += exact() && executed != item.number ? 1 : 0;
            layer.witnesses[index].executed++;
            if (layer == second) {
                received.get(item.flow()).add(item.number);
            }
            if (emitter != null) {
                emitter.emit(item.key % TASKS, Message.tuple(task, item));
            }
        }

        @Override
        public void send(int seat, long epoch, Message<Item> message) {
            if (message.answers() && rules.has(Rules.Guard.SAY_BEFORE_THE_ACKNOWLEDGEMENT)) {
                publish();
            }
            if (rules.forwarding || message.kind != Message.Kind.TUPLE) {
                World.this.send(task, seat, epoch, message);
            }
        }

        @Override
        public void end(int next) {
            for (int logical = 0; emitter != null && logical < TASKS; logical++) {
                emitter.emit(logical, Message.end(task, next));
            }
        }

        @Override
        public byte[] snapshot() throws SnapshotException {
            if (random.nextDouble() < rules.refusals) {
                throw new SnapshotException("no luck", null);
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (DataOutputStream data = new DataOutputStream(bytes)) {
                data.writeInt(layer.witnesses[index].begun);
                data.writeInt(fresh);
                for (int count : counts) {
                    data.writeInt(count);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return bytes.toByteArray();
        }

        /** It goes on, if it is the owner, with all that the task has executed. */
        private void check() {
            Witness witness = layer.witnesses[index];
            int executed = IntStream.of(counts).sum();
            witness.shrunk += executed == witness.executed ? 0 : 1;
            witness.executed = executed;
        }

        @Override
        public void left() {
            counts = null; // whoever executes here now fails
        }

        @Override
        public void kept(String why) {
            check();
        }

        @Override
        public void restore(byte[] content) throws SnapshotException {
            if (random.nextDouble() < rules.unreadable) {
                throw new SnapshotException("no luck there", null);
            }
            if (random.nextDouble() < rules.deadly) {
                throw new Deadly();
            }
            counts = new int[SPOUTS * KEYS];
            try (DataInputStream data = new DataInputStream(new ByteArrayInputStream(content))) {
                Witness witness = layer.witnesses[index];
                int begun = data.readInt();
                fresh = data.readInt();
                for (int flow = 0; flow < counts.length; flow++) {
                    counts[flow] = data.readInt();
                }
                int executed = IntStream.of(counts).sum();
                witness.shrunk += begun == witness.begun && executed == witness.executed ? 0 : 1;
                witness.executed = executed;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public long bytes(Item item) {
            return 1;
        }

        @Override
        public long now() {
            return now;
        }
    }

    private void send(int from, int to, long under, Message<Item> message) {
        if (random.nextDouble() < rules.drops) {
            verdict.dropped += message.kind == Message.Kind.TUPLE ? 1 : 0;
        } else {
            channels.send(new Channels.Envelope(from, to, under, message));
        }
    }

    private boolean exact() {
        return rules.drops == 0 && rules.deaths == 0 && rules.losses == 0 && verdict.deaths == 0;
    }

    /** Have workers die so many steps after one of the moves, which is the last one. */
    World killing(Role role, int after) {
        killed = role;
        countdown = after;
        return this;
    }

    /** Show somebody all pages that are written. */
    World showing(Consumer<LedgerPage> reader) {
        this.reader = reader;
        return this;
    }

    /** Let so many things happen, then nothing new, and see what became of all tuples. */
    Verdict run(int steps) {
        for (int step = 0; step < steps; step++) {
            last = step > steps / 4;
            double chance = random.nextDouble();
            if (chance < .25) {
                spout();
            } else if (chance < .29 && victims.isEmpty()) {
                move();
            } else {
                act(chance);
            }
            if (!victims.isEmpty() && countdown-- == 0) {
                victims.forEach(this::kill);
            }
            if (random.nextDouble() < rules.deaths) {
                kill(random.nextInt(HOSTS));
            }
            if (random.nextDouble() < rules.losses) {
                verdict.pages++;
                (random.nextBoolean() ? first : second).write(null);
            }
        }
        int rest = 0;
        while (rest++ < ENDLESS * steps && (act(random.nextDouble()) || patience())) {
            // until nothing is under way
        }
        return judge();
    }

    private void spout() {
        int spout = random.nextInt(SPOUTS);
        int key = random.nextInt(KEYS);
        if (!emitters.get(spout).dead) {
            Item item = new Item(spout, key, sent[spout * KEYS + key]++);
            emitters.get(spout).emit(key % TASKS, Message.tuple(spout, item));
        }
    }

    /** @return false if nothing is under way */
    private boolean act(double chance) {
        if (!orders.isEmpty() && chance < .4) {
            orders.remove(random.nextInt(orders.size())).run();
            return true;
        }
        if (!news.isEmpty() && chance < .5) {
            news.remove(random.nextInt(news.size())).run();
            return true;
        }
        if (!dead.isEmpty() && rules.revive && chance > .98) {
            begin(dead.get(random.nextInt(dead.size())));
        } else if (!exact() && chance > .975) {
            pass();
        } else if (chance > .7) {
            look();
        }
        Channels.Envelope envelope = channels.next(random);
        if (envelope != null && !seats.get(envelope.to).dead) {
            Seat seat = seats.get(envelope.to);
            seat.deliver(envelope);
            if (rules.impatient()) {
                seat.handover.expire();
            }
            alone(seat);
        }
        return envelope != null || underWay();
    }

    /** A seat has a tick, and says what it is, or its worker does what the ledger asks for. */
    private void look() {
        Layer layer = random.nextBoolean() ? first : second;
        Seat seat = seats.get(layer.seats.get(random.nextInt(TASKS))[random.nextInt(HOSTS)]);
        if (!seat.dead) {
            seat.handover.tick(TICK);
            if (random.nextBoolean()) {
                seat.publish();
            } else {
                seat.follow();
            }
        }
    }

    private void pass() {
        now += 1_100;
        seats.values().stream().filter(seat -> !seat.dead).forEach(seat -> seat.handover.expire());
    }

    /** Nobody else owns what a seat owns. */
    private void alone(Seat seat) {
        long owners = IntStream.of(seat.layer.seats.get(seat.index)).mapToObj(seats::get)
            .filter(each -> !each.dead && each.handover.owner()).count();
        verdict.shared += owners > 1 ? 1 : 0;
    }

    /** Let all workers live and look, and time pass: true while something is waited for. */
    private boolean patience() {
        if (rules.revive) {
            List.copyOf(dead).forEach(this::begin);
        }
        List<Seat> alive = seats.values().stream().filter(seat -> !seat.dead).collect(Collectors.toList());
        if (exact() && !rules.impatient()) { // a worker looks at the ledger sooner than order is given up
            alive.forEach(Seat::publish);
            alive.forEach(Seat::follow);
            return underWay();
        }
        pass();
        alive.forEach(Seat::publish);
        alive.forEach(Seat::follow);
        return underWay() || rests++ < RESTS
            && alive.stream().anyMatch(seat -> !seat.handover.settled() || seat.handover.held() > 0);
    }

    private boolean underWay() {
        return !channels.isEmpty() || !orders.isEmpty() || !news.isEmpty();
    }

    private void move() {
        Layer layer = random.nextBoolean() ? first : second;
        int logical = random.nextInt(TASKS);
        if (layer.page == null) {
            return;
        }
        Entry entry = layer.page.entry(logical);
        int[] own = layer.seats.get(logical);
        Handover<Item> owner = seats.get(entry.seat).handover;
        int to = (entry.seat - own[0] + 1 + random.nextInt(HOSTS - 1)) % HOSTS;
        boolean settled = Arrays.stream(own).mapToObj(seats::get).allMatch(each -> !each.dead && each.handover.settled());
        if (!settled || !owner.owner() || owner.epoch() != entry.epoch) {
            return;
        }
        if (rules.ordered) { // by somebody who has looked at the ledger before others order
            news.add(() -> layer.order(logical, own[to], entry.epoch + 1));
            if (random.nextInt(5) == 0) {
                news.add(() -> layer.cancel(logical));
            }
        } else {
            layer.change(to, old -> old.enter(logical, own[to], entry.epoch + 1, life(to)));
            entered(layer, logical, entry.seat, own[to]);
        }
    }

    /** A task is to move from one seat to another. */
    private void entered(Layer layer, int logical, int from, int to) {
        verdict.moves++;
        if (killed != null && last) {
            int home = layer.seats.get(logical)[0];
            victims = killed.of(from - home, to - home);
            moved = layer.told[logical] == 0 ? () -> layer.unharmed(logical) : () -> true;
        }
    }

    private Verdict judge() {
        for (Seat seat : seats.values()) {
            LedgerPage page = seat.layer.page;
            boolean gone = seat.dead || page == null || seats.get(page.entry(seat.index).seat).dead; // for ever
            verdict.stuck += gone ? 0 : seat.handover.held() + (exact() || seat.handover.settled() ? 0 : 1);
            verdict.forwarded += seat.handover.forwarded();
            verdict.disordered += seat.handover.disordered();
        }
        first.judge();
        second.judge();
        verdict.harmed += moved.getAsBoolean() ? 0 : 1;
        for (int flow = 0; flow < sent.length; flow++) {
            List<Integer> numbers = received.get(flow);
            Set<Integer> once = new HashSet<>(numbers);
            verdict.sent += sent[flow];
            verdict.lost += sent[flow] - once.size();
            verdict.twice += numbers.size() - once.size();
            verdict.wrongState += verdict.deaths > 0 || counted(flow) == numbers.size() ? 0 : 1;
            for (int i = 1; i < numbers.size(); i++) {
                verdict.inversions += numbers.get(i) < numbers.get(i - 1) ? 1 : 0;
            }
        }
        return verdict;
    }

    /** What the owners of the second component have in their state. */
    private int counted(int flow) {
        return second.seats.stream().flatMapToInt(Arrays::stream).mapToObj(seats::get)
            .filter(seat -> seat.handover.owner()).mapToInt(seat -> seat.counts[flow]).sum();
    }
}
