package headworks.spark;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * On which executor each task of a stage runs by a policy, which needs no plan: numbers in, numbers out, none of Spark.
 *
 * `binpack` fills the fullest executor first, and `balance` the one that is least loaded for its cores. Both fill the
 * slots that are free; other tasks run where the next one becomes free. `even-state` gives every task a place: executors
 * have shares by their slots, a task stays where it was, and as few move as the shares ask for.
 */
public final class PlacementPolicy {
    static final String BINPACK = "binpack";
    static final String BALANCE = "balance";
    static final String EVEN_STATE = "even-state";
    static final List<String> NAMES =
        Collections.unmodifiableList(Arrays.asList(new String[] {BINPACK, BALANCE, EVEN_STATE}));

    private PlacementPolicy() {
    }

    /**
     * The executor of each task, by its number; -1 for any that has a slot.
     *
     * @param policy one of NAMES
     * @param was executor that had each task before, -1 if none did; of no account but for the state
     * @param slots tasks that each executor can run at once
     * @param running tasks that it runs
     */
    public static int[] places(String policy, int[] was, int[] slots, int[] running) {
        if (policy.equals(EVEN_STATE)) {
            return kept(was, slots);
        }
        int[] places = new int[was.length];
        Arrays.fill(places, -1);
        fill(places, (int[]) running.clone(), slots, slots, policy.equals(BINPACK));
        return places;
    }

    private static int[] kept(int[] was, int[] slots) {
        int[] all = new int[was.length];
        int[] shares = new int[slots.length];
        int[] endless = new int[slots.length];
        Arrays.fill(all, -1);
        Arrays.fill(endless, Integer.MAX_VALUE);
        fill(all, shares, endless, slots, false);
        int[] places = new int[was.length];
        int[] load = new int[slots.length];
        for (int i = 0; i < was.length; i++) {
            boolean stays = was[i] >= 0 && load[was[i]] < shares[was[i]];
            places[i] = stays ? was[i] : -1;
            if (stays) {
                load[was[i]]++;
            }
        }
        fill(places, load, shares, slots, false);
        return places;
    }

    /** Give places to tasks that have none, one after another, while an executor has room; add them to its load. */
    private static void fill(int[] places, int[] load, int[] room, int[] slots, boolean pack) {
        for (int i = 0; i < places.length; i++) {
            if (places[i] < 0) {
                int found = next(load, room, slots, pack);
                if (found < 0) {
                    return;
                }
                places[i] = found;
                load[found]++;
            }
        }
    }

    /** The executor that the next task is for; of equal ones that with most slots, then the first. -1 if none has room. */
    private static int next(int[] load, int[] room, int[] slots, boolean pack) {
        int best = -1;
        for (int i = 0; i < slots.length; i++) {
            if (slots[i] > 0 && load[i] < room[i] && (best < 0 || isBetter(i, best, load, slots, pack))) {
                best = i;
            }
        }
        return best;
    }

    private static boolean isBetter(int one, int other, int[] load, int[] slots, boolean pack) {
        int more = pack ? 0 : 1;
        long left = (long) (load[one] + more) * slots[other];
        long right = (long) (load[other] + more) * slots[one];
        return left == right ? slots[one] > slots[other] : pack == left > right;
    }
}
