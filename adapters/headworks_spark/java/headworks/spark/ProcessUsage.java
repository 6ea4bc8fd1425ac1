package headworks.spark;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * CPU time and memory of this JVM and every process below it, from /proc.
 *
 * PySpark's daemon does not keep what its ended workers used, so what a process used is counted while it lives: the
 * last look at it counts, and what it used after that look is lost.
 */
final class ProcessUsage {
    private static final long TICK = 10;
    private static final String RESIDENT = "VmRSS:";

    private final String self;
    private Map<String, Long> seen = new HashMap<String, Long>();
    private long ended = 0;

    ProcessUsage() {
        String name = "0";
        try {
            name = new File("/proc/self").getCanonicalFile().getName();
        } catch (IOException error) {
            name = "0";
        }
        self = name;
    }

    /** "milliseconds cpu-milliseconds rss-kilobytes processes", the first since the epoch, the second since the start. */
    String look() {
        Map<String, String[]> processes = processes();
        Map<String, Long> alive = new HashMap<String, Long>();
        long rss = 0;
        Iterator<?> all = processes.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry<?, ?> each = (Map.Entry<?, ?>) all.next();
            String[] fields = (String[]) each.getValue();
            if (isOurs((String) each.getKey(), processes)) {
                String process = each.getKey() + "/" + fields[19];
                alive.put(process, Long.valueOf(ticks(fields)));
                seen.remove(process);
                rss += resident((String) each.getKey());
            }
        }
        ended += sum(seen);
        seen = alive;
        return System.currentTimeMillis() + " " + (ended + sum(alive)) * TICK + " " + rss + " " + alive.size();
    }

    private static long sum(Map<String, Long> processes) {
        long ticks = 0;
        Iterator<?> all = processes.values().iterator();
        while (all.hasNext()) {
            ticks += ((Long) all.next()).longValue();
        }
        return ticks;
    }

    /** Resident kilobytes of a process, 0 if it is gone: /proc/PID/stat has them in pages, whose size kernels choose. */
    private static long resident(String pid) {
        String text;
        try {
            text = new String(Files.readAllBytes(new File("/proc/" + pid + "/status").toPath()), StandardCharsets.ISO_8859_1);
        } catch (IOException gone) {
            return 0;
        }
        int begin = text.indexOf(RESIDENT);
        return begin < 0 ? 0 : Long.parseLong(text.substring(begin + RESIDENT.length(), text.indexOf(" kB", begin)).trim());
    }

    private static long ticks(String[] fields) {
        return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
    }

    private boolean isOurs(String pid, Map<String, String[]> processes) {
        String at = pid;
        while (at != null && !at.equals(self)) {
            String[] fields = (String[]) processes.get(at);
            at = fields == null ? null : fields[1];
        }
        return at != null;
    }

    /** Fields of /proc/PID/stat from the state on, by pid. */
    private static Map<String, String[]> processes() {
        Map<String, String[]> found = new HashMap<String, String[]>();
        String[] names = new File("/proc").list();
        for (int i = 0; names != null && i < names.length; i++) {
            if (Character.isDigit(names[i].charAt(0))) {
                try {
                    byte[] bytes = Files.readAllBytes(new File("/proc/" + names[i] + "/stat").toPath());
                    String text = new String(bytes, StandardCharsets.ISO_8859_1);
                    found.put(names[i], text.substring(text.lastIndexOf(')') + 2).split(" "));
                } catch (IOException gone) {
                    continue;
                }
            }
        }
        return found;
    }
}
