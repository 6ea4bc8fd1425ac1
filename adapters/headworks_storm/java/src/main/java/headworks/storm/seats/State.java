package headworks.storm.seats;

/** The state of a logical task as it travels: the user's bytes, and whose turn it is among the seats upstream. */
final class State {
    /** Of the user's bolt; never changed. */
    final byte[] content;
    /** See {@link Turns#snapshot}; never changed. */
    final int[] turns;

    State(byte[] content, int[] turns) {
        this.content = content;
        this.turns = turns;
    }
}
