package headworks.storm.workload;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The words of a line, in lower case, without punctuation. */
final class Words {
    private Words() {
    }

    static List<String> of(String line) {
        return Arrays.stream(line.toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+"))
            .filter(word -> !word.isEmpty()).collect(Collectors.toList());
    }
}
