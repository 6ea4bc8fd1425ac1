package headworks.spark;

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Set;
import java.util.TreeSet;

/**
 * Whether this Spark has each class and member that the jar refers to, or overrides, by the list in the jar.
 *
 * The JVM itself looks for them, by the same rules as when it links a call. What it does not call absent counts as there:
 * a false alarm would leave all tasks to Spark.
 */
public final class SparkMembers {
    private static final String LIST = "/META-INF/headworks/members";
    private static final String SPARK = "org.apache.spark.";
    private static final ClassLoader LOADER = SparkMembers.class.getClassLoader();

    private SparkMembers() {
    }

    /** The names of those that are absent, of the members that a part of the jar needs, in alphabetical order. */
    public static Set<String> missing(String part) {
        Set<String> found = new TreeSet<String>();
        try {
            InputStream stream = SparkMembers.class.getResourceAsStream(LIST);
            try {
                BufferedReader lines = new BufferedReader(new InputStreamReader(stream, "UTF-8"));
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    String[] words = line.split(" ");
                    if (words[0].equals(part) && isAbsent(words)) {
                        found.add(words.length == 3 ? words[2] : words[2] + "." + words[3]);
                    }
                }
            } finally {
                stream.close();
            }
        } catch (Exception error) {
            Faults.say("this Spark is not looked at, as the jar has no list of its members: " + error, error);
        }
        return found;
    }

    private static boolean isAbsent(String[] words) {
        try {
            Class<?> owner = Class.forName(words[2], false, LOADER);
            return words.length > 3 && isAbsent(owner, words[1], words[3], words[4]);
        } catch (ClassNotFoundException error) {
            return true;
        } catch (TypeNotPresentException error) {
            return error.typeName().startsWith(SPARK);
        } catch (Throwable error) {
            // There, but not for this class, or not to be told.
            return false;
        }
    }

    private static boolean isAbsent(Class<?> owner, String kind, String name, String descriptor) throws Exception {
        boolean isField = kind.equals("field");
        MethodType type = MethodType.fromMethodDescriptorString(isField ? "()" + descriptor : descriptor, LOADER);
        if (!isField && owner.isInterface() != kind.equals("interface")) {
            return true;
        }
        for (int way = 0; way < 2; way++) {
            try {
                find(owner, isField, name, type, way == 0);
                return false;
            } catch (NoSuchMethodException error) {
                continue;
            } catch (NoSuchFieldException error) {
                continue;
            }
        }
        return true;
    }

    private static void find(Class<?> owner, boolean isField, String name, MethodType type, boolean isStatic)
        throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        if (isField && isStatic) {
            lookup.findStaticGetter(owner, name, type.returnType());
        } else if (isField) {
            lookup.findGetter(owner, name, type.returnType());
        } else if (name.equals("<init>")) {
            lookup.findConstructor(owner, type);
        } else if (isStatic) {
            lookup.findStatic(owner, name, type);
        } else {
            lookup.findVirtual(owner, name, type);
        }
    }
}
