package headworks.storm;

import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Values of a topology's configuration for the round, which is for all topologies: none may be too deep to be written
 * or read, nor may those of one topology be most of it.
 */
final class Bounded {
    /** Lists and maps in each other. Storm's own constraints have 3; JSON of a thousand is read by nobody. */
    private static final int DEEPEST = 8;
    /** Parts and characters of one topology. With more, some topologies make a round that is longer than it may be. */
    private static final int LARGEST = 1 << 18;

    private int left = LARGEST;

    /** The value, or in its place a sentence on why it is left out. */
    Object value(Object value) {
        int before = left;
        if (fits(value, DEEPEST)) {
            return value;
        }
        left = before;
        return "left out: deeper than " + DEEPEST + " levels, or with what is told already larger than " + LARGEST;
    }

    private boolean fits(Object value, int levels) {
        left--;
        if (value instanceof CharSequence) {
            left -= ((CharSequence) value).length();
        }
        if (left < 0 || levels < 0) {
            return false;
        }
        if (value instanceof Map) {
            return all(((Map<?, ?>) value).keySet(), levels) && all(((Map<?, ?>) value).values(), levels);
        }
        return all(value instanceof Collection ? (Collection<?>) value : List.of(), levels);
    }

    private boolean all(Collection<?> values, int levels) {
        for (Object each : values) {
            if (!fits(each, levels - 1)) {
                return false;
            }
        }
        return true;
    }
}
