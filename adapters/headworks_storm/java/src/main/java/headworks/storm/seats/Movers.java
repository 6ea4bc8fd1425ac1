package headworks.storm.seats;

import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.apache.storm.shade.org.apache.zookeeper.KeeperException;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.utils.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The part of one worker in all moves, on a thread of its own: it reads the ledger, tells emitters and seats, enters the
 * ownership of a seat that is ready, and says what its seats are.
 */
final class Movers implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Movers.class);
    /** Milliseconds from one look at the seats to the next. With more, a move is told of later. */
    private static final long LOOK_MS = 50;
    /** Looks after which a page is read that could not be read. With more, a move waits longer where ZooKeeper was away. */
    private static final int AGAIN = 40;
    /** Nanoseconds after which a state is no longer waited for of a worker that says nothing: beyond the end of its session. */
    private static final long LOST = TimeUnit.SECONDS.toNanos(10);
    /**
     * Milliseconds after its submission up to which a topology may have its first page. One that comes later may stand for a page
     * that was removed. With more, a worker that starts just then begins with a state that another one has; with less, tasks of
     * topologies that wait for slots begin later, and count as if they had lost a state.
     */
    private static final long FIRST = TimeUnit.MINUTES.toMillis(5);

    private static final String SEATS = "seats";

    private final SeatWorker worker;
    private final Ledger ledger;
    private final String name;
    private final String life = UUID.randomUUID().toString();
    private final Set<Integer> tasks;
    private final SharedOwners owners = new SharedOwners();
    private final Map<String, LedgerPage> pages = new HashMap<>();
    /** Components whose page has changed, or may have, and could not be read. */
    private final Set<String> unread = new HashSet<>();
    /** The pages as this worker began, of which its seats are made, however late that is: they then do what came after. */
    private final Map<String, LedgerPage> began = new HashMap<>();
    private final Map<Integer, SeatHandover> seats = new ConcurrentHashMap<>();
    private final Set<String> preparing = new HashSet<>();
    /** Epoch with which a task began anew in a seat, by task of the seat. */
    private final Map<Integer, Long> begun = new HashMap<>();
    /** Since when a seat waits for a state, by task. */
    private final Map<Integer, Long> waiting = new HashMap<>();
    private final ScheduledExecutorService thread;
    /** What was said of the seats; null if it has to be said again, for the session may have ended, and with it what was said. */
    private Map<SeatHandover, SeatStatus> told;
    private int looks;

    Movers(SeatWorker worker, Map<String, Object> conf, WorkerTopologyContext context) {
        this.worker = worker;
        this.name = host() + ":" + context.getThisWorkerPort();
        this.tasks = Set.copyOf(context.getThisWorkerTasks());
        this.ledger = new Ledger(conf, context.getStormId());
        this.thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread made = new Thread(task, "headworks-seats");
            made.setDaemon(true);
            return made;
        });
    }

    /** Read the ledger, and follow it from now on. */
    void start() {
        try {
            for (String each : worker.seating.components().keySet()) {
                ledger.open(each, LedgerPage.first(worker.ids.seats(each).homes()));
                long age = ledger.age(each);
                began.put(each, ledger.change(each, page ->
                    started(each, page.untouched() && age > FIRST ? page.late(age) : page)));
                read(each);
            }
        } catch (Exception unread) {
            close();
            throw new IllegalStateException("the ledger of seats cannot be read", unread);
        }
        ledger.onReturn(() -> later("read the ledger", this::readAgain));
        worker.follow(owners, this::seat);
        thread.scheduleWithFixedDelay(() -> act("look at its seats", this::look), LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
        thread.execute(() -> act("tidy the ledger", ledger::tidy));
    }

    /** Enter that this worker begins; what another life of it had is gone. */
    private LedgerPage started(String component, LedgerPage page) {
        LedgerPage fresh = page;
        for (int index = 0; index < page.table.size(); index++) {
            int owner = page.entry(index).seat;
            fresh = tasks.contains(owner) ? fresh.start(index, owner, life, stateful(component)) : fresh;
        }
        return fresh;
    }

    /** A seat is made; on the thread of its executor. */
    private Arrivals seat(SeatBolt bolt, int task) {
        SeatHandover seat = new SeatHandover(bolt, task, worker, (component, index) -> began.get(component).entry(index));
        seats.put(task, seat);
        return seat;
    }

    private interface Act {
        void run() throws Exception;
    }

    private void act(String what, Act act) {
        try {
            act.run();
        } catch (Exception | LinkageError failed) {
            LOG.warn("{} cannot {}; it tries again: {}", name, what, failed.toString());
        }
    }

    private void later(String what, Act act) {
        try {
            thread.execute(() -> act(what, act));
        } catch (RejectedExecutionException closed) {
            // the worker ends
        }
    }

    /** Read the page of a component, and hear of the next change of it; one that somebody has removed is written again. */
    private void read(String component) throws Exception {
        unread.add(component);
        LedgerPage page;
        try {
            page = page(component);
        } catch (KeeperException.NoNodeException gone) {
            restore(component);
            page = page(component);
        }
        LedgerPage known = pages.get(component);
        learn(component, known == null || page.with(known) == page ? page : changed(component, same -> same));
        unread.remove(component);
    }

    private LedgerPage page(String component) throws Exception {
        return ledger.page(component, () -> later("read the ledger", () -> read(component)));
    }

    private void restore(String component) throws Exception {
        LedgerPage known = pages.get(component);
        if (known != null && ledger.runs()) {
            LOG.warn("{} finds no page of {} in the ledger, and writes again what it knows", name, component);
            ledger.open(component, known.again());
        }
    }

    /** Change a page, which tells what this worker knows then, whoever wrote it again. */
    private LedgerPage changed(String component, UnaryOperator<LedgerPage> change) throws Exception {
        LedgerPage known = pages.get(component);
        return ledger.change(component, page -> change.apply(page.with(known)));
    }

    /** Read all of the ledger, and say all, as nothing that ZooKeeper was asked to tell or to keep is certain. */
    private void readAgain() throws Exception {
        told = null;
        unread.addAll(worker.seating.components().keySet());
        readUnread();
    }

    private void readUnread() throws Exception {
        for (String each : List.copyOf(unread)) {
            read(each);
        }
    }

    private void learn(String component, LedgerPage page) {
        pages.put(component, page);
        if (owners.learn(component, page.table)) {
            seats.values().forEach(SeatHandover::nudge);
        }
        seats.values().stream().filter(each -> each.component.equals(component)).forEach(each -> follow(each, page));
    }

    private void look() throws Exception {
        if (++looks % AGAIN == 0) {
            readUnread();
        }
        worker.pollResting();
        for (SeatHandover each : seats.values()) {
            follow(each, pages.get(each.component));
        }
        tell();
    }

    /** Do for a seat what the ledger asks for. */
    private void follow(SeatHandover seat, LedgerPage page) {
        Entry entry = page.entry(seat.index);
        SeatStatus status = seat.status();
        Step step = Step.next(seat.task, entry, status, seat.taker());
        if (step == Step.GIVE) {
            seat.give(entry);
        } else if (step == Step.REVOKE) {
            seat.revoke("the worker that was to take it has ended");
        } else if (step == Step.ADOPT) {
            seat.renumber(entry.epoch);
        } else if (step == Step.CLAIM) {
            enter(seat, old -> old.claim(seat.index, seat.task, life));
        } else if (step == Step.RELEASE) {
            enter(seat, old -> old.release(seat.index, seat.task));
        } else if (step == Step.KEEP) {
            enter(seat, old -> old.stay(seat.index, seat.task, status.epoch, life, seat.why()));
        } else if (step == Step.BEGIN && begun.getOrDefault(seat.task, -1L) < Math.max(entry.epoch, status.epoch + 1)) {
            begin(seat, entry, Step.anew(entry, status));
        }
        if (step != Step.AWAIT && step != Step.FORWARD) {
            waiting.remove(seat.task);
        } else if (System.nanoTime() - waiting.computeIfAbsent(seat.task, any -> System.nanoTime()) > LOST) {
            act("ask for a state", () -> despair(seat, entry));
        }
        ready(seat, page, entry);
    }

    private void enter(SeatHandover seat, UnaryOperator<LedgerPage> change) {
        later("enter an owner", () -> learn(seat.component, changed(seat.component, change)));
    }

    /** Begin a task anew, of which nobody has the state: first in the ledger, so that it is told whoever dies now. */
    private void begin(SeatHandover seat, Entry entry, long epoch) {
        later("begin a task anew", () -> {
            String why = stateful(seat.component) ? "no worker had it any more" : null;
            LedgerPage page = changed(seat.component, old -> old.anew(seat.index, entry, epoch, why));
            Entry now = page.entry(seat.index);
            if (now.seat == seat.task && now.epoch == epoch && begun.getOrDefault(seat.task, -1L) < epoch) {
                LOG.warn("Nobody has the state of {}/{} any more: it begins anew", seat.component, seat.index);
                begun.put(seat.task, epoch);
                seat.adopt(epoch);
            }
            learn(seat.component, page);
        });
    }

    private boolean stateful(String component) {
        return !worker.seating.components().get(component).state.equals(Seating.STATELESS);
    }

    /**
     * Wait no longer: what waits in a seat that is not the owner is passed on, and the state is not had from a seat of which no
     * worker tells, as its machine is taken for dead.
     */
    private void despair(SeatHandover seat, Entry entry) throws Exception {
        if (entry.seat != seat.task) {
            seat.follow(entry.seat, entry.epoch);
            return;
        }
        boolean told = ledger.workers().values().stream().anyMatch(each -> tells((Map<?, ?>) each.get(SEATS), seat, entry.holder));
        if (!told) {
            enter(seat, page -> page.forsaken(seat.index, entry, life));
        }
    }

    /** True if a worker tells of the seat that may have a state; where nobody knows which, of one that owns or gives the task. */
    private static boolean tells(Map<?, ?> rows, SeatHandover seat, int holder) {
        if (holder != Message.NOBODY) {
            return rows.containsKey(String.valueOf(holder));
        }
        return rows.values().stream().map(each -> (List<?>) each).anyMatch(row -> seat.component.equals(row.get(0))
            && is(row.get(1), seat.index) && (is(row.get(2), 1) || is(row.get(4), 1)));
    }

    private static boolean is(Object said, int number) {
        return ((Number) said).intValue() == number;
    }

    /** Do what is to be done before a move is entered. */
    private void ready(SeatHandover seat, LedgerPage page, Entry entry) {
        int wanted = page.wanted(seat.index);
        if (wanted == Message.NOBODY) {
            return;
        }
        boolean tried = page.tried(seat.index);
        String order = seat.task + "@" + entry.epoch;
        if (wanted == seat.task && tried && preparing.add(order)) {
            seat.prepare(page.size(seat.index), why -> later("enter an owner", () -> prepared(seat, entry.epoch + 1, why)));
        } else if (!tried && entry.seat == seat.task && preparing.add(order)) {
            seat.attempt((size, why) ->
                later("say whether a state can be had", () -> attempted(seat, entry.epoch + 1, size, why)));
        }
    }

    /** The owner has tried a snapshot. */
    private void attempted(SeatHandover seat, long epoch, long size, String why) throws Exception {
        preparing.remove(seat.task + "@" + (epoch - 1));
        learn(seat.component, changed(seat.component, page -> page.attempted(seat.index, epoch, size, why)));
    }

    /** The bolt in a seat is ready, or not: the seat is entered as the owner, which is what decides a move. */
    private void prepared(SeatHandover seat, long epoch, String why) throws Exception {
        preparing.remove(seat.task + "@" + (epoch - 1));
        LedgerPage page = changed(seat.component, old -> old.prepared(seat.index, seat.task, epoch, life, why));
        if (page.table.seat(seat.index) != seat.task) {
            seat.dismiss();
        }
        learn(seat.component, page);
    }

    private void tell() throws Exception {
        Map<SeatHandover, SeatStatus> now = new HashMap<>();
        seats.values().forEach(seat -> now.put(seat, seat.status()));
        if (now.equals(told)) { // the same objects: a seat makes another only if something has changed
            return;
        }
        Map<String, Object> rows = new TreeMap<>();
        now.forEach((seat, status) -> {
            List<Object> row = new ArrayList<>(List.of(seat.component, seat.index));
            row.addAll(status.told());
            rows.put(String.valueOf(seat.task), row);
        });
        ledger.tell(name, Map.of(SEATS, rows), () -> later("say again what its seats are", () -> told = null));
        told = now;
    }

    private static String host() {
        try {
            return Utils.hostname();
        } catch (UnknownHostException unknown) {
            return "unknown";
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
        ledger.close();
    }
}
