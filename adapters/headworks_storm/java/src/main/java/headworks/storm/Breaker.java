package headworks.storm;

/**
 * The patience for a Python process that accepts calls and stays silent.
 *
 * Nimbus waits on its one scheduling thread, where kills and rebalances wait too. After three silent rounds a call is
 * given up unless the process proves itself at once; one that does is given all of its time.
 */
final class Breaker {
    private static final int ROUNDS = 3;
    /** Enough for two lines on the loopback interface of a busy machine. With more, each silent round costs more. */
    private static final int SHORT_MS = 200;

    private final int patience;
    private int silent;

    Breaker(int patienceMillis) {
        this.patience = patienceMillis;
    }

    /** Milliseconds for the proof of the process. */
    int millis() {
        return silent >= ROUNDS ? Math.min(SHORT_MS, patience) : patience;
    }

    void silence() {
        silent++;
    }

    void heard() {
        silent = 0;
    }

    /** Why there was no answer, and what this does about it. */
    String reason() {
        return silent < ROUNDS ? "nothing within " + patience + " ms"
            : "nothing in " + silent + " rounds; each waits " + Math.min(SHORT_MS, patience) + " ms until it answers";
    }
}
