package headworks.storm.seats;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.storm.task.IBolt;

/**
 * How full the fields of a bolt were when it was prepared: what differs later is state, declared or not.
 *
 * Looked at are maps, collections, arrays, numbers and texts of the user's own classes. State of a bolt is as a rule in
 * such fields, transient ones among them, which its serialised form does not show.
 */
final class Census {
    private final Object own;
    private final Map<Field, Object> before;

    private Census(Object own, Map<Field, Object> before) {
        this.own = own;
        this.before = before;
    }

    /** Look at a bolt that was prepared just now. */
    static Census of(IBolt bolt) {
        Object own = Snapshots.own(bolt);
        return new Census(own, measures(own));
    }

    /** Names of the fields that differ from what they were. */
    List<String> changed() {
        List<String> changed = new ArrayList<>();
        measures(own).forEach((field, measure) -> {
            if (!Objects.equals(measure, before.get(field))) {
                changed.add(field.getName());
            }
        });
        return changed;
    }

    private static Map<Field, Object> measures(Object own) {
        Map<Field, Object> measures = new LinkedHashMap<>();
        for (Class<?> each = own.getClass(); each != null && isOfUser(each); each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers())) {
                    measures.put(field, measure(field, own));
                }
            }
        }
        return measures;
    }

    private static boolean isOfUser(Class<?> kind) {
        return !kind.getName().startsWith("org.apache.storm.") && !kind.getName().startsWith("java.");
    }

    /** A small value that differs if the field does; null where it is nothing that holds state as a rule. */
    private static Object measure(Field field, Object own) {
        try {
            field.setAccessible(true);
            Object value = field.get(own);
            if (value instanceof Map) {
                return ((Map<?, ?>) value).size();
            } else if (value instanceof Collection) {
                return ((Collection<?>) value).size();
            } else if (value instanceof Number) {
                return value.toString(); // some are changed in place
            } else if (value instanceof Boolean || value instanceof Character || value instanceof CharSequence) {
                return value.toString();
            }
            return value != null && value.getClass().isArray() ? hash(value) : null;
        } catch (ReflectiveOperationException | RuntimeException closed) {
            return null; // a module that is shut, or a collection that does not count
        }
    }

    private static int hash(Object array) {
        return array instanceof Object[] ? ((Object[]) array).length : Arrays.deepHashCode(new Object[] {array});
    }
}
