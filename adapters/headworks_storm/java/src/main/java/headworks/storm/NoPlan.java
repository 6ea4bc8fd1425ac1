package headworks.storm;

/**
 * Why a round has no plan that can be applied, as a sentence for people.
 *
 * It never has a cause: the message of one may hold a whole payload, which belongs in no log.
 */
final class NoPlan extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final int LONGEST = 300;

    private NoPlan(String reason) {
        super(Line.of(reason, LONGEST), null, false, false);
    }

    /** The Python process did not answer, or not in time. */
    static NoPlan unanswered(String why) {
        return new NoPlan("Headworks does not answer (" + why + ")");
    }

    /** There is an answer, and it must not be applied. */
    static NoPlan refused(String why) {
        return new NoPlan("Headworks's answer is refused (" + why + ")");
    }

    /** Headworks itself says that it has no plan. */
    static NoPlan held(String why) {
        return new NoPlan("Headworks holds (" + why + ")");
    }

    /** Something in this jar failed. */
    static NoPlan failed(Throwable cause) {
        return new NoPlan("Headworks's bridge failed (" + cause.getClass().getSimpleName() + ": " + cause.getMessage() + ")");
    }
}
