package headworks.storm.seats;

/** A bolt that hands its state over when its task moves to another worker; its own are called by the thread that executes. */
public interface Movable {
    /**
     * The state of the task: nothing is executed after it, unless the move does not take place. It is also called for a
     * trial, after which the task goes on.
     */
    byte[] snapshot();

    /**
     * Take a state, after the bolt was prepared and before it executes anything. It is also called for a trial, in the worker
     * that the task is to leave, of an instance that executes nothing and is then cleaned up.
     */
    void restore(byte[] state);
}
