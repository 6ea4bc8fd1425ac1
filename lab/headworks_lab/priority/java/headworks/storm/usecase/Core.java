package headworks.storm.usecase;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.storm.utils.Utils;

/**
 * The one core of a node: tasks in all its workers take turns at it, a tuple for its service time.
 *
 * <p>All nodes of the cluster are on one machine, and share its processors. So a turn is time that passes, not processor
 * time: nodes are as fast as they are many, whatever else the machine does.
 */
final class Core {
    /** Between two turns of a task. With none, the task that had the last turn has the next one, too. */
    private static final long PAUSE_MS = 1;
    /** Threads of a worker; whose turn it is among workers, the file's lock says. */
    private static final ReentrantLock WORKER = new ReentrantLock(true);

    private final FileChannel file;
    private final long millis;

    /** The core of the node on which this worker runs. */
    Core(Settings settings) {
        millis = Math.round(settings.service * 1000);
        try {
            Path path = Path.of(settings.cores, Utils.hostname());
            file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Takes a turn. */
    void work() {
        try {
            WORKER.lockInterruptibly();
            try (FileLock turn = file.lock()) {
                Thread.sleep(millis);
            } finally {
                WORKER.unlock();
            }
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the worker ends", ended);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
