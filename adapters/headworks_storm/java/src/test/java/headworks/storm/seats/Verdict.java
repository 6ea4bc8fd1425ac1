package headworks.storm.seats;

/** What came of all tuples, in one or more worlds. */
final class Verdict {
    int moves;
    int kept;
    int sent;
    int dropped;
    int lost;
    int twice;
    int inversions;
    int stuck;
    int wrongState;
    int deaths;
    /** Pages of the ledger that were lost. */
    int pages;
    /** Orders that were in vain, as another one was there. */
    int conflicts;
    /** Times that two seats owned one task. */
    int shared;
    /** Tasks that at the end have no owner, or another one than the ledger says. */
    int ownerless;
    /** Times that a task went on without its state, or with less of it. */
    int losses;
    /** Such times of which the ledger does not tell. */
    int silent;
    /** Times that a task began anew while a worker that lived had its state. */
    int wasted;
    /** Moves in which workers died and the task that moved lost something. */
    int harmed;
    long forwarded;
    long disordered;

    void add(Verdict other) {
        moves += other.moves;
        kept += other.kept;
        sent += other.sent;
        dropped += other.dropped;
        lost += other.lost;
        twice += other.twice;
        inversions += other.inversions;
        stuck += other.stuck;
        wrongState += other.wrongState;
        deaths += other.deaths;
        pages += other.pages;
        conflicts += other.conflicts;
        shared += other.shared;
        ownerless += other.ownerless;
        losses += other.losses;
        silent += other.silent;
        wasted += other.wasted;
        harmed += other.harmed;
        forwarded += other.forwarded;
        disordered += other.disordered;
    }

    @Override
    public String toString() {
        return moves + " moves (" + kept + " kept), " + sent + " tuples: " + dropped + " dropped, " + lost + " lost, "
            + twice + " twice, " + inversions + " out of order, " + stuck + " stuck, " + wrongState
            + " times wrong state, " + disordered + " times order given up; " + forwarded + " forwarded; "
            + deaths + " deaths, " + pages + " pages gone, " + conflicts + " conflicts, " + shared + " times two owners, " + ownerless + " without the right owner, " + losses
            + " times state lost, " + silent + " unsaid, " + wasted + " for nothing, " + harmed + " moves harmed";
    }
}
