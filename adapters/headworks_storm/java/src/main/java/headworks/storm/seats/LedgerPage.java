package headworks.storm.seats;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/**
 * A page of the ledger, of one component; never changed.
 *
 * <p>As JSON it has {@code owners}, {@code [seat,epoch,holder,life]} by logical task, as {@link Entry} says; {@code wanted},
 * {@code [seat,epoch]} of moves that were ordered and are not yet entered, with the bytes of its state, 1 at least, once the
 * owner has tried a snapshot; {@code refused}, {@code [epoch,why]} of the last order that was not carried out; and {@code lost},
 * {@code [times,epoch,why]} of tasks that lost their state, or what they had of it since it was handed over. {@code working},
 * {@code [tasks,number]}, is there once somebody has said how many tasks are to work, with the number of the order.
 */
final class LedgerPage {
    private static final String OWNERS = "owners";
    private static final String WANTED = "wanted";
    private static final String REFUSED = "refused";
    private static final String LOST = "lost";
    private static final String WORKING = "working";
    /** More than the ownerships of a task that there can be before a worker has read of the first one. */
    private static final long UNTOLD = 1_000;
    private static final String ENDED = "its worker ended";
    private static final String ENDED_IN_A_MOVE = "its worker ended in a move: what that executed of it, if anything, is missing";

    /** Who owns what. */
    final Table table;
    private final List<Entry> entries;
    private final Map<String, List<Object>> wanted;
    private final Map<String, List<Object>> refused;
    private final Map<String, List<Object>> lost;
    private final List<Object> working;

    private LedgerPage(List<Entry> entries, Map<String, List<Object>> wanted, Map<String, List<Object>> refused,
            Map<String, List<Object>> lost, List<Object> working) {
        this.entries = entries;
        this.wanted = wanted;
        this.refused = refused;
        this.lost = lost;
        this.working = working;
        Table owners = Table.of(entries.stream().mapToInt(each -> each.seat).toArray());
        for (int i = 0; i < entries.size(); i++) {
            owners = owners.with(i, entries.get(i).seat, entries.get(i).epoch);
        }
        table = working.isEmpty() ? owners : owners.working((int) number(working, 0), number(working, 1));
    }

    /** The page of tasks of which none was ever moved. */
    static LedgerPage first(Table homes) {
        List<Entry> entries = homes.list().stream().map(Entry::home).collect(Collectors.toList());
        return new LedgerPage(entries, Map.of(), Map.of(), Map.of(), List.of());
    }

    @SuppressWarnings("unchecked")
    static LedgerPage read(String json) {
        Map<String, Object> said = (Map<String, Object>) JSONValue.parse(json);
        List<Entry> entries = ((List<List<Object>>) said.get(OWNERS)).stream().map(row ->
            new Entry((int) number(row, 0), number(row, 1), (int) number(row, 2), (String) row.get(3)))
            .collect(Collectors.toList());
        return new LedgerPage(entries, (Map<String, List<Object>>) said.get(WANTED),
            (Map<String, List<Object>>) said.get(REFUSED), (Map<String, List<Object>>) said.get(LOST),
            (List<Object>) said.getOrDefault(WORKING, List.of()));
    }

    String json() {
        List<List<Object>> owners = new ArrayList<>();
        entries.forEach(each -> owners.add(List.of(each.seat, each.epoch, each.holder, each.life)));
        return JSONValue.toJSONString(
            Map.of(OWNERS, owners, WANTED, wanted, REFUSED, refused, LOST, lost, WORKING, working));
    }

    /** Who owns a task. */
    Entry entry(int index) {
        return entries.get(index);
    }

    /** True while no worker has begun by this page. */
    boolean untouched() {
        return entries.stream().allMatch(each -> each.epoch == 0 && each.life.equals(Entry.NO_LIFE));
    }

    /**
     * This page as of tasks that may have owners of whom it does not tell: their states are waited for under a new number.
     *
     * @param epoch larger than that of any ownership that there may have been
     */
    LedgerPage late(long epoch) {
        List<Entry> all = entries.stream().map(each -> new Entry(each.seat, epoch, Message.NOBODY, each.life))
            .collect(Collectors.toList());
        return new LedgerPage(all, wanted, refused, lost, working);
    }

    /**
     * This page as a worker writes it again that may not have read the last one: owners say whether they have their states, and
     * there are no orders, as one may have been taken back or carried out.
     */
    LedgerPage again() {
        List<Entry> all = entries.stream().map(Entry::unknown).collect(Collectors.toList());
        return new LedgerPage(all, Map.of(), refused, lost, working);
    }

    /** This page with what another one tells that is newer; this one if there is nothing. Orders are none of that. */
    LedgerPage with(LedgerPage known) {
        List<Entry> all = new ArrayList<>();
        for (int index = 0; index < entries.size(); index++) {
            all.add(entry(index).newest(known.entry(index)));
        }
        Map<String, List<Object>> refusals = newest(refused, known.refused);
        Map<String, List<Object>> losses = newest(lost, known.lost);
        boolean later = known.table.order() > table.order();
        return all.equals(entries) && refusals == refused && losses == lost && !later ? this
            : new LedgerPage(all, wanted, refusals, losses, later ? known.working : working);
    }

    /** The seat to which a task is ordered to move, {@link Message#NOBODY} if there is no order that is still good. */
    int wanted(int index) {
        List<Object> order = wanted.get(String.valueOf(index));
        boolean good = order != null && number(order, 1) == entry(index).epoch + 1;
        return good ? (int) number(order, 0) : Message.NOBODY;
    }

    /** True if the owner of a task that is to move has found that its state can be had. */
    boolean tried(int index) {
        return wanted(index) != Message.NOBODY && wanted.get(String.valueOf(index)).size() > 2;
    }

    /** Bytes of the state with which a task that was {@link #tried} is to move. */
    long size(int index) {
        return tried(index) ? number(wanted.get(String.valueOf(index)), 2) : 0;
    }

    /** Times that a task has lost its state. */
    int lost(int index) {
        List<Object> loss = lost.get(String.valueOf(index));
        return loss == null ? 0 : (int) number(loss, 0);
    }

    /** This page with the order for a task marked as tried. */
    private LedgerPage tried(int index, long epoch, long size) {
        if (wanted(index) == Message.NOBODY || tried(index) || entry(index).epoch != epoch - 1) {
            return this;
        }
        return new LedgerPage(entries, with(wanted, index, List.of(wanted(index), epoch, Math.max(1, size))), refused, lost, working);
    }

    /** This page with an owner entered to whom the one before is to give its task; this page if an owner is as new. */
    LedgerPage enter(int index, int seat, long epoch, String life) {
        Entry old = entry(index);
        return epoch <= old.epoch ? this : owned(index, new Entry(seat, epoch, old.seat, life));
    }

    /** This page with an owner that has all there is of a task; this page if an owner is as new. */
    LedgerPage keep(int index, int seat, long epoch, String life) {
        return epoch <= entry(index).epoch ? this : owned(index, new Entry(seat, epoch, seat, life));
    }

    /** This page with the owner of a task that could not be given away, and why; this page if an owner is as new. */
    LedgerPage stay(int index, int seat, long epoch, String life, String why) {
        LedgerPage page = keep(index, seat, epoch, life);
        return page == this ? this : page.refuse(index, epoch - 1, why);
    }

    /** This page without the order for a task. */
    private LedgerPage owned(int index, Entry entry) {
        return new LedgerPage(with(index, entry), without(wanted, index), refused, lost, working);
    }

    /**
     * This page, in which an owner waits no longer for the state that it has not got. If nobody knew who has it, there may be
     * ownerships of which the page does not tell: it goes on with a number beyond them.
     *
     * @param seen what it has seen of itself, which is to be so still
     * @param life of its worker
     */
    LedgerPage forsaken(int index, Entry seen, String life) {
        return entry(index).epoch != seen.epoch ? this
            : seen.holder != Message.NOBODY ? release(index, seen.holder)
            : claim(index, new Entry(seen.seat, seen.epoch + UNTOLD, seen.seat, life));
    }

    /** This page, in which an owner has what there is of its task, of which it was not known who has it. */
    LedgerPage claim(int index, int seat, String life) {
        return claim(index, new Entry(seat, entry(index).epoch, seat, life));
    }

    private LedgerPage claim(int index, Entry owner) {
        Entry old = entry(index);
        return old.seat != owner.seat || old.holder != Message.NOBODY ? this
            : new LedgerPage(with(index, owner), wanted, refused, lost, working);
    }

    /** This page, in which a seat that was the owner has nothing of the task any more, if that is what it says. */
    LedgerPage release(int index, int holder) {
        Entry old = entry(index);
        if (old.holder != holder || old.seat == holder) {
            return this;
        }
        return new LedgerPage(with(index, new Entry(old.seat, old.epoch, old.seat, old.life)), wanted, refused, lost,
            working);
    }

    /**
     * This page as a worker begins that has the owner of a task: if another life of it had what there was of the state, that is
     * lost, and it owns anew, as that life may have passed on tuples under a number that nobody knows. An order is to be tried
     * again.
     *
     * @param stateful true if there is a state to be lost
     */
    LedgerPage start(int index, int seat, String life, boolean stateful) {
        Entry old = entry(index);
        if (old.seat != seat || old.life.equals(life)) {
            return this;
        }
        boolean first = old.life.equals(Entry.NO_LIFE);
        boolean alone = !first && old.holder == seat;
        long epoch = alone ? old.epoch + 1 : old.epoch;
        int to = wanted(index);
        Map<String, List<Object>> orders = to == Message.NOBODY ? without(wanted, index)
            : with(wanted, index, List.of(to, epoch + 1));
        Map<String, List<Object>> losses = first || !stateful ? lost
            : loss(index, old.epoch, alone ? ENDED : ENDED_IN_A_MOVE);
        return new LedgerPage(with(index, new Entry(seat, epoch, old.holder, life)), orders, refused, losses, working);
    }

    /**
     * This page with a task that begins anew in the seat of its owner, as nobody has its state.
     *
     * @param seen what the owner has seen of itself, which is to be so still
     * @param why null if there was no state to be lost
     */
    LedgerPage anew(int index, Entry seen, long epoch, String why) {
        Entry old = entry(index);
        if (old.seat != seen.seat || old.epoch != seen.epoch || old.holder != old.seat) {
            return this;
        }
        LedgerPage page = keep(index, old.seat, epoch, old.life);
        return why == null ? page
            : new LedgerPage(page.entries, page.wanted, refused, loss(index, old.epoch, why), working);
    }

    private Map<String, List<Object>> loss(int index, long epoch, String why) {
        return with(lost, index, List.of(lost(index) + 1, epoch, why));
    }

    /** This page with the reason why a task does not move, and without the order for it. */
    LedgerPage refuse(int index, long epoch, String why) {
        return new LedgerPage(entries, without(wanted, index), with(refused, index, List.of(epoch, why)), lost,
            working);
    }

    /**
     * This page once the owner of a task has tried a snapshot for the ownership of a number.
     *
     * @param size bytes of the state
     * @param why the state cannot be had; null if it can
     */
    LedgerPage attempted(int index, long epoch, long size, String why) {
        return table.epoch(index) != epoch - 1 ? this : why == null ? tried(index, epoch, size) : refuse(index, epoch, why);
    }

    /**
     * This page once a seat is ready to own a task under a number: it is entered, if that is still what was ordered.
     *
     * @param why it is not ready; null if it is
     */
    LedgerPage prepared(int index, int seat, long epoch, String life, String why) {
        return wanted(index) != seat || table.epoch(index) != epoch - 1 || !tried(index) ? this
            : why == null ? enter(index, seat, epoch, life) : refuse(index, epoch, why);
    }

    /** Rows of one, and those of another whose first number is larger; the one itself if there is none. */
    private static Map<String, List<Object>> newest(Map<String, List<Object>> own, Map<String, List<Object>> other) {
        Map<String, List<Object>> all = new LinkedHashMap<>(own);
        other.forEach((index, row) ->
            all.merge(index, row, (here, there) -> number(there, 0) > number(here, 0) ? there : here));
        return all.equals(own) ? own : all;
    }

    private List<Entry> with(int index, Entry entry) {
        List<Entry> others = new ArrayList<>(entries);
        others.set(index, entry);
        return others;
    }

    private static Map<String, List<Object>> without(Map<String, List<Object>> all, int index) {
        Map<String, List<Object>> others = new LinkedHashMap<>(all);
        others.remove(String.valueOf(index));
        return others;
    }

    private static Map<String, List<Object>> with(Map<String, List<Object>> all, int index, List<Object> row) {
        Map<String, List<Object>> more = without(all, index);
        more.put(String.valueOf(index), row);
        return more;
    }

    private static long number(List<Object> row, int place) {
        return ((Number) row.get(place)).longValue();
    }
}
