package headworks.storm.monitor;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** CPU time of executors. Each has one thread, which Storm names after the first and last task of the executor. */
final class Threads {
    private static final Pattern NAME = Pattern.compile("-executor\\[(\\d+), (\\d+)]$");

    private final ThreadMXBean bean = ManagementFactory.getThreadMXBean();
    private final Map<Integer, Long> told = new TreeMap<>();

    /**
     * CPU time since the last call.
     *
     * @param tasks the tasks of this worker
     * @return nanoseconds by first task of an executor, null where they are not known
     */
    Map<Integer, Long> cpu(Set<Integer> tasks) {
        Map<Integer, Long> used = new TreeMap<>();
        for (ThreadInfo each : bean.getThreadInfo(bean.getAllThreadIds())) {
            Matcher name = NAME.matcher(each == null ? "" : each.getThreadName());
            if (name.find() && tasks.contains(Integer.valueOf(name.group(1)))) {
                Integer executor = Integer.valueOf(name.group(1));
                long now = bean.isThreadCpuTimeEnabled() ? bean.getThreadCpuTime(each.getThreadId()) : -1;
                used.put(executor, since(executor, now));
            }
        }
        return used;
    }

    private Long since(Integer executor, long now) {
        Long before = now < 0 ? told.remove(executor) : told.put(executor, now);
        return now < 0 || before == null ? null : (Long) Math.max(0, now - before);
    }
}
