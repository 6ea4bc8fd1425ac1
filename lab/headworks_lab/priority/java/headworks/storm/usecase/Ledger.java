package headworks.storm.usecase;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What a task has done, tuple by tuple, in a file of each gateway that outlives its worker.
 *
 * <p>Kafka's spout sends again what was acknowledged after it paused: what is in the file is not done twice, and a batch
 * that another worker began is gone on with.
 */
final class Ledger {
    private final Path folder;
    private final Map<String, RandomAccessFile> files = new HashMap<>();
    private final Set<String> known = new HashSet<>();
    private final Map<String, Integer> counts = new HashMap<>();
    private final Map<String, Integer> marked = new HashMap<>();

    Ledger(Settings settings) {
        folder = Path.of(settings.folder);
    }

    /** Whether a tuple is in it. */
    boolean knows(String source, String batch, int number) {
        open(source);
        return known.contains(key(source, batch) + "#" + number);
    }

    /**
     * Writes a tuple down.
     *
     * @param isMarked whether it is counted by {@link #marked}, too
     * @param text what else stands on its line
     */
    void add(String source, String batch, int number, boolean isMarked, String text) {
        String line = batch + "#" + number + " " + (isMarked ? 1 : 0) + " " + text + "\n";
        try {
            RandomAccessFile file = open(source);
            file.write(line.getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        remember(source, line);
    }

    /** Tuples of a batch that are in it. */
    int count(String source, String batch) {
        return counts.getOrDefault(key(source, batch), 0);
    }

    /** Those of them that are marked. */
    int marked(String source, String batch) {
        return marked.getOrDefault(key(source, batch), 0);
    }

    private RandomAccessFile open(String source) {
        return files.computeIfAbsent(source, this::read);
    }

    /** Opens a file at its end; half of a line, of a worker that was killed, goes. */
    private RandomAccessFile read(String source) {
        try {
            Path path = folder.resolve(source);
            String text = Files.exists(path) ? Files.readString(path) : "";
            String whole = text.substring(0, text.lastIndexOf('\n') + 1);
            RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
            file.setLength(whole.getBytes(StandardCharsets.UTF_8).length);
            file.seek(file.length());
            whole.lines().forEach(line -> remember(source, line));
            return file;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void remember(String source, String line) {
        String[] words = line.split(" ", 3);
        String batch = key(source, words[0].substring(0, words[0].lastIndexOf('#')));
        if (known.add(source + " " + words[0])) {
            counts.merge(batch, 1, Integer::sum);
            marked.merge(batch, Integer.parseInt(words[1]), Integer::sum);
        }
    }

    private static String key(String source, String batch) {
        return source + " " + batch;
    }
}
