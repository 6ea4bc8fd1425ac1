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
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

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
    private int countdown;
    private List<Integer> victims = List.of();
    private BooleanSupplier moved = () -> true;
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
            emitters.add(new Emitter(spout, first));
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
        LedgerPage page;
        Sources sources;

        Layer(int base) {
            for (int i = 0; i < TASKS; i++) {
                int[] own = new int[HOSTS];
                Arrays.setAll(own, host -> base + own.length * seats.size() + host);
                seats.add(own);
                witnesses[i] = new Witness();
            }
            page = LedgerPage.first(Table.of(seats.stream().mapToInt(own -> own[0]).toArray()));
        }

        /** Make the seats of a worker that begins. */
        void begin(int host, String life) {
            for (int i = 0; i < TASKS; i++) {
                boolean apart = rules.has(Rules.Guard.TELL_LIVES_APART);
                page = page.start(i, seats.get(i)[host], apart ? life : String.valueOf(host), true);
            }
            int[] current = this == first ? new int[] {0, 1} : first.page.table.seats();
            for (int i = 0; i < TASKS; i++) {
                int task = seats.get(i)[host];
                Seat seat = new Seat(this, i, host, this == first ? new Emitter(task, second) : null);
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
            return witnesses[logical].begun == 1 && witnesses[logical].shrunk == 0 && page.lost(logical) == 0;
        }

        void judge() {
            for (int i = 0; i < TASKS; i++) {
                Witness witness = witnesses[i];
                int owner = page.entry(i).seat;
                int losses = witness.begun - 1 + witness.shrunk;
                long owners = IntStream.of(seats.get(i)).mapToObj(World.this.seats::get)
                    .filter(each -> !each.dead && each.handover.owner()).count();
                boolean gone = World.this.seats.get(owner).dead; // with a worker that never comes back
                verdict.ownerless += gone || owners == 1 && World.this.seats.get(owner).handover.owner() ? 0 : 1;
                verdict.losses += losses;
                verdict.silent += Math.max(0, losses - page.lost(i));
                verdict.wasted += witness.wasted;
            }
        }

        /** Change the page; everybody upstream hears of a new owner at some time. */
        void change(int logical, UnaryOperator<LedgerPage> change) {
            Table old = page.table;
            page = change.apply(page);
            int seat = page.table.seat(logical);
            long epoch = page.table.epoch(logical);
            if (epoch > old.epoch(logical)) {
                emitters.stream().filter(each -> each.to == this)
                    .forEach(each -> news.add(() -> each.learn(logical, seat, epoch)));
            }
        }
    }


    /** Whose workers die in a move. */
    enum Role {
        OLD, NEW, BOTH, UPSTREAM;

        List<Integer> of(int from, int to) {
            return this == OLD ? List.of(from) : this == NEW ? List.of(to) : this == BOTH ? List.of(from, to)
                : List.of(HOSTS - from - to);
        }
    }

    /** What an outsider knows of the state of a logical task. */
    private static final class Witness {
        /** Times that it began without a state, the first one included. */
        private int begun;
        /** Tuples executed since. */
        private int executed;
        /** Times that it went on with less than it had. */
        private int shrunk;
        /** Times that it began anew while a live seat had its state. */
        private int wasted;
    }

    /** A worker begins: spouts and seats on it, by the ledger as it is now. */
    private void begin(int host) {
        String life = host + "." + ++lives[host];
        dead.remove((Integer) host);
        if (lives[host] > 1 && host < SPOUTS) {
            emitters.set(host, new Emitter(host, first));
        }
        first.begin(host, life);
        second.begin(host, life);
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
        final Layer to;
        private Table table;
        private boolean dead;

        Emitter(int task, Layer to) {
            this.task = task;
            this.to = to;
            this.table = to.page.table;
        }

        void emit(int logical, Message<Item> message) {
            send(task, table.seat(logical), -1, message);
        }

        void learn(int logical, int seat, long epoch) {
            if (dead) {
                return;
            }
            Table newer = table.with(logical, seat, epoch);
            newer.since(table).forEach(each -> emit(each, Message.mark(task, newer.epoch(each))));
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
        private boolean dead;
        /** Epoch with which the task began anew here. */
        private long begun = -1;
        /** Since when something waits here that is another's; negative if nothing does. */
        private long waiting = -1;

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
            Witness witness = layer.witnesses[index];
            witness.begun++;
            witness.executed = 0;
            witness.wasted += IntStream.of(layer.seats.get(index)).mapToObj(seats::get).anyMatch(each ->
                each != null && !each.dead && each != this && (each.handover.owner() || each.handover.handing())) ? 1 : 0;
        }

        /** Do what the ledger asks for, as its worker does. */
        void follow() {
            Entry entry = layer.page.entry(index);
            Step step = Step.next(task, entry, seen());
            waiting = step == Step.FORWARD ? waiting : -1;
            if (step == Step.GIVE) {
                orders.add(() -> give(entry));
            } else if (step == Step.FORWARD && rules.has(Rules.Guard.FORWARD) && waited()) {
                orders.add(() -> follow(entry));
            } else if (step == Step.RELEASE) {
                layer.change(index, page -> page.release(index, task));
            } else if (step == Step.KEEP) {
                verdict.kept++;
                layer.change(index, page -> page.keep(index, task, status.epoch, entry.life));
            } else if (step == Step.BEGIN && begun < entry.epoch) {
                begin(entry);
            } else if (step == Step.AWAIT && rules.has(Rules.Guard.DESPAIR) && silent(entry.holder)) {
                layer.change(index, page -> page.release(index, entry.holder));
            }
        }

        private boolean waited() {
            waiting = waiting < 0 ? now : waiting;
            return now - waiting > 5_000;
        }

        private boolean silent(int holder) {
            return seats.get(holder).dead;
        }

        private SeatStatus seen() {
            boolean handing = status.handing && rules.has(Rules.Guard.KEEP_UNTIL_ACKNOWLEDGED);
            long epoch = rules.has(Rules.Guard.RELEASE_WHAT_WAS_HAD) || status.owner ? status.epoch : Long.MAX_VALUE - 1;
            return new SeatStatus(status.owner, epoch, handing, true, status.held, 0, 0, 0);
        }

        private void give(Entry entry) {
            if (!dead) {
                handover.give(entry.seat, entry.epoch);
            }
        }

        private void follow(Entry entry) {
            if (!dead) {
                handover.follow(entry.seat, entry.epoch);
            }
        }

        private void begin(Entry entry) {
            boolean fresh = rules.has(Rules.Guard.BEGIN_UNDER_A_NEW_NUMBER);
            long epoch = fresh ? Step.anew(entry, status) : entry.epoch + 1;
            begun = epoch;
            Runnable enter = () -> layer.change(index, page -> page.anew(index, entry, epoch, "it died"));
            if (rules.has(Rules.Guard.ENTER_BEFORE_IT_BEGINS)) {
                enter.run();
            } else {
                orders.add(dead ? () -> { } : enter);
            }
            orders.add(() -> adopt(epoch));
        }

        private void adopt(long epoch) {
            if (!dead && handover.epoch() < epoch) {
                anew();
                handover.adopt(epoch);
            }
        }

        void deliver(Channels.Envelope envelope) {
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
            if (message.kind == Message.Kind.RECEIVED && rules.has(Rules.Guard.SAY_BEFORE_THE_ACKNOWLEDGEMENT)) {
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
                for (int count : counts) {
                    data.writeInt(count);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            counts = null; // whoever executes here now fails
            return bytes.toByteArray();
        }

        @Override
        public void restore(byte[] content) {
            counts = new int[SPOUTS * KEYS];
            try (DataInputStream data = new DataInputStream(new ByteArrayInputStream(content))) {
                Witness witness = layer.witnesses[index];
                int begun = data.readInt();
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
        return rules.drops == 0 && rules.deaths == 0 && verdict.deaths == 0;
    }

    /** Have workers die so many steps after one of the moves, which is the last one. */
    World killing(Role role, int after) {
        killed = role;
        countdown = after;
        return this;
    }

    /** Let so many things happen, then nothing new, and see what became of all tuples. */
    Verdict run(int steps) {
        for (int step = 0; step < steps; step++) {
            double chance = random.nextDouble();
            if (chance < .25) {
                spout();
            } else if (chance < .29 && victims.isEmpty()) {
                move(step > steps / 4);
            } else {
                act(chance);
            }
            if (!victims.isEmpty() && countdown-- == 0) {
                victims.forEach(this::kill);
            }
            if (random.nextDouble() < rules.deaths) {
                kill(random.nextInt(HOSTS));
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

    /** A seat says what it is, or its worker does what the ledger asks for. */
    private void look() {
        Layer layer = random.nextBoolean() ? first : second;
        Seat seat = seats.get(layer.seats.get(random.nextInt(TASKS))[random.nextInt(HOSTS)]);
        if (!seat.dead) {
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

    private void move(boolean last) {
        Layer layer = random.nextBoolean() ? first : second;
        int logical = random.nextInt(TASKS);
        Entry entry = layer.page.entry(logical);
        int[] own = layer.seats.get(logical);
        Handover<Item> owner = seats.get(entry.seat).handover;
        int to = (entry.seat - own[0] + 1 + random.nextInt(HOSTS - 1)) % HOSTS;
        boolean settled = Arrays.stream(own).mapToObj(seats::get).allMatch(each -> !each.dead && each.handover.settled());
        if (settled && owner.owner() && owner.epoch() == entry.epoch) {
            verdict.moves++;
            layer.change(logical, page -> page.enter(logical, own[to], entry.epoch + 1, to + "." + lives[to]));
            if (killed != null && last) {
                victims = killed.of(entry.seat - own[0], to);
                moved = layer.page.lost(logical) == 0 ? () -> layer.unharmed(logical) : () -> true;
            }
        }
    }

    private Verdict judge() {
        for (Seat seat : seats.values()) {
            boolean gone = seat.dead || seats.get(seat.layer.page.entry(seat.index).seat).dead; // for ever
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
