package headworks.storm;

/** Whoever plans a round; in production an object of the Python process, called over py4j. */
public interface Planner {
    /**
     * Answer a round.
     *
     * @param round the cluster as JSON, see {@link Snapshot}
     * @return what to do as JSON, see {@link Answer}
     */
    String answer(String round);
}
