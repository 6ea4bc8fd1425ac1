package headworks.storm.seats;

/** Seats that a topology, or one of its components, cannot have; the message says why, and what to write instead. */
public final class Refusal extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /**
     * Refuse.
     *
     * @param message why, and what to do
     */
    Refusal(String message) {
        super(message);
    }
}
