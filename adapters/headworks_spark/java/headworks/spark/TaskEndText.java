package headworks.spark;

import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.TaskInfo;
import scala.collection.Iterator;

/** The end of a task as JSON in Spark's own form, without the parts that nobody here reads: most of it. */
final class TaskEndText {
    private final StringBuilder text;
    private boolean first = true;

    private TaskEndText(StringBuilder text) {
        this.text = text;
    }

    static void write(SparkListenerTaskEnd event, StringBuilder text) {
        TaskEndText writer = new TaskEndText(text);
        TaskInfo info = event.taskInfo();
        String reason = event.reason().getClass().getSimpleName().replace("$", "");
        writer.open(null).text("Event", "SparkListenerTaskEnd");
        writer.number("Stage ID", event.stageId()).number("Stage Attempt ID", event.stageAttemptId());
        writer.open("Task End Reason").text("Reason", reason).close();
        writer.open("Task Info").number("Task ID", info.taskId()).number("Index", info.index());
        writer.number("Partition ID", info.partitionId());
        writer.number("Launch Time", info.launchTime()).number("Finish Time", info.finishTime());
        writer.text("Executor ID", info.executorId()).text("Host", info.host());
        writer.text("Locality", info.taskLocality().toString());
        writer.flag("Failed", info.failed()).flag("Killed", info.killed()).python(info).close();
        if (event.taskMetrics() != null) {
            writer.metrics(event.taskMetrics());
        }
        writer.close();
    }

    /** What Python operators counted: the only accumulables that are read. */
    private TaskEndText python(TaskInfo info) {
        name("Accumulables");
        text.append('[');
        boolean none = true;
        Iterator<?> all = ((scala.collection.Iterable<?>) (Object) info.accumulables()).iterator();
        while (all.hasNext()) {
            AccumulableInfo each = (AccumulableInfo) all.next();
            String name = each.name().isDefined() ? (String) (Object) each.name().get() : "";
            if (name.startsWith("time to ") && name.contains("Python") && each.update().isDefined()) {
                text.append(none ? "" : ",").append("{\"Name\":\"").append(name).append("\",\"Update\":\"");
                text.append((Object) each.update().get()).append("\"}");
                none = false;
            }
        }
        text.append(']');
        return this;
    }

    private void metrics(TaskMetrics metrics) {
        open("Task Metrics").number("Executor Run Time", metrics.executorRunTime());
        number("Executor CPU Time", metrics.executorCpuTime());
        open("Input Metrics").number("Records Read", metrics.inputMetrics().recordsRead()).close();
        open("Output Metrics").number("Records Written", metrics.outputMetrics().recordsWritten()).close();
        open("Shuffle Read Metrics").number("Remote Bytes Read", metrics.shuffleReadMetrics().remoteBytesRead());
        number("Local Bytes Read", metrics.shuffleReadMetrics().localBytesRead());
        number("Fetch Wait Time", metrics.shuffleReadMetrics().fetchWaitTime());
        number("Total Records Read", metrics.shuffleReadMetrics().recordsRead()).close();
        open("Shuffle Write Metrics").number("Shuffle Bytes Written", metrics.shuffleWriteMetrics().bytesWritten());
        number("Shuffle Records Written", metrics.shuffleWriteMetrics().recordsWritten()).close();
        close();
    }

    private TaskEndText open(String name) {
        if (name != null) {
            name(name);
        }
        text.append('{');
        first = true;
        return this;
    }

    private TaskEndText close() {
        text.append('}');
        first = false;
        return this;
    }

    private TaskEndText number(String name, long value) {
        name(name);
        text.append(value);
        return this;
    }

    private TaskEndText flag(String name, boolean value) {
        name(name);
        text.append(value);
        return this;
    }

    /** Ids, hosts and class names: nothing in them has to be escaped. */
    private TaskEndText text(String name, String value) {
        name(name);
        text.append('"').append(value).append('"');
        return this;
    }

    private void name(String name) {
        text.append(first ? "" : ",").append('"').append(name).append("\":");
        first = false;
    }
}
