package headworks.storm.seats;

/** Says in which seat each task of a component with seats lives. */
public interface Owners {
    /** A number that differs after each change: one volatile read, before each emission. */
    long version();

    /**
     * The owners as they are now.
     *
     * @param component one with seats
     */
    Table table(String component);

    /** Owners of whom none ever moves: each lives where it began. */
    static Owners homes(TaskIds ids) {
        return new Owners() {
            @Override
            public long version() {
                return 0;
            }

            @Override
            public Table table(String component) {
                return ids.seats(component).homes();
            }
        };
    }
}
