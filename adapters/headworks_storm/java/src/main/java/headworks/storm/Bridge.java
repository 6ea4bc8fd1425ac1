package headworks.storm;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks a planner with a deadline, on a thread of its own.
 *
 * Nimbus joins its scheduling thread when it shuts down, so that thread waits where it can be interrupted. An answer
 * that comes after the deadline is dropped, and the call it belongs to is interrupted.
 */
final class Bridge implements AutoCloseable {
    private final ExecutorService thread = Executors.newSingleThreadExecutor(Bridge::daemon);
    private final Planner planner;
    private final int timeout;

    Bridge(Planner planner, int timeoutMillis) {
        this.planner = planner;
        this.timeout = timeoutMillis;
    }

    /**
     * Ask for the answer to a round.
     *
     * @throws NoPlan there was none in time
     * @throws InterruptedException this thread was interrupted while it waited
     */
    String ask(String round) throws InterruptedException {
        Future<String> answer = thread.submit(() -> planner.answer(round));
        try {
            return answer.get(timeout, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw NoPlan.unanswered("nothing within " + timeout + " ms");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            throw cause instanceof NoPlan ? (NoPlan) cause : NoPlan.failed(cause);
        } finally {
            answer.cancel(true);
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "headworks-bridge");
        thread.setDaemon(true);
        return thread;
    }
}
