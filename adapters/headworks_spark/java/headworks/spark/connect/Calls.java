package headworks.spark.connect;

import com.fasterxml.jackson.databind.ObjectMapper;
import headworks.spark.Faults;
import headworks.spark.PlacementCounts;
import headworks.spark.PlacementTable;
import headworks.spark.TableLease;
import headworks.spark.UsagePlugin;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.classic.SparkSession;
import org.sparkproject.connect.protobuf.Any;

/**
 * The calls that a client of Spark Connect may make: public methods of `ConnectSession`, and static ones of a few
 * classes. Nothing else can be reached. Connect has checked by then that the client may use this session.
 */
final class Calls {
    private static final String CALL = "headworks.spark/call";
    private static final Class<?>[] OPEN = {
        ConnectSession.class, Faults.class, PlacementCounts.class, PlacementTable.class, TableLease.class,
        UsagePlugin.class,
    };
    /** Methods that change where the tasks of a query run, whose id is the first word. */
    private static final List<String> CHANGES = Arrays.asList(new String[] {"clear", "grant", "replace"});
    private static final ObjectMapper JSON = new ObjectMapper();

    private Calls() {
    }

    /** The words of a message of this jar's, as JSON; null of any other. */
    static String read(byte[] message) {
        try {
            Any any = Any.parseFrom(message);
            return any.getTypeUrl().equals(CALL) ? any.getValue().toStringUtf8() : null;
        } catch (Exception error) {
            return null;
        }
    }

    /** Make a call; its answer is JSON. */
    static String answer(SparkSession session, String call) {
        try {
            String[] words = (String[]) JSON.readValue(call, String[].class);
            return JSON.writeValueAsString(make(new ConnectSession(session), words));
        } catch (InvocationTargetException error) {
            throw new IllegalStateException("Headworks: " + said(error.getCause()), error.getCause());
        } catch (Exception error) {
            throw new IllegalStateException("Headworks: " + said(error), error);
        }
    }

    private static String said(Throwable error) {
        return error instanceof IllegalArgumentException ? error.getMessage() : error.toString();
    }

    private static Object make(ConnectSession session, String[] words) throws Exception {
        Method method = method(words);
        if (CHANGES.contains(method.getName())) {
            session.refuseOthers(words[1]);
        }
        Class<?>[] kinds = method.getParameterTypes();
        Object[] given = new Object[kinds.length];
        for (int i = 0; i < kinds.length; i++) {
            given[i] = value(kinds[i], words[i + 1]);
        }
        return method.invoke(session, given);
    }

    private static Method method(String[] words) {
        for (int i = 0; i < OPEN.length; i++) {
            Method[] all = OPEN[i].getDeclaredMethods();
            for (int j = 0; j < all.length; j++) {
                boolean named = words[0].equals(OPEN[i].getSimpleName() + "." + all[j].getName());
                if (named && isOpen(all[j]) && all[j].getParameterTypes().length == words.length - 1) {
                    return all[j];
                }
            }
        }
        throw new IllegalArgumentException("the jar of the Connect server has no call " + words[0] + " of "
            + (words.length - 1) + " words: write it again with the client's version, and restart the server");
    }

    private static boolean isOpen(Method method) {
        int kind = method.getModifiers();
        boolean ours = method.getDeclaringClass() == ConnectSession.class;
        return Modifier.isPublic(kind) && (ours || Modifier.isStatic(kind));
    }

    private static Object value(Class<?> kind, String word) {
        if (kind == long.class) {
            return Long.valueOf(word);
        }
        if (kind == int.class) {
            return Integer.valueOf(word);
        }
        return kind == boolean.class ? (Object) Boolean.valueOf(word) : word;
    }
}
