package headgate.storm.workload;

/** Says how many tuples are due at a steady rate; what was missed is made up for, but no more than a second of it. */
final class Pace {
    private final double perNano;
    private long last;
    private double due;

    /** @param perSecond tuples per second; 0 or less means as many as possible */
    Pace(double perSecond) {
        perNano = perSecond / 1e9;
        last = System.nanoTime();
    }

    /** Whether one more tuple is due now; asking for it takes it. */
    boolean take() {
        if (perNano <= 0) {
            return true;
        }
        long now = System.nanoTime();
        due = Math.min(due + (now - last) * perNano, Math.max(1, perNano * 1e9));
        last = now;
        if (due < 1) {
            return false;
        }
        due -= 1;
        return true;
    }
}
