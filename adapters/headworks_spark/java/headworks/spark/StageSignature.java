package headworks.spark;

import java.util.TreeMap;
import org.apache.spark.rdd.RDDOperationScope;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.DAGScheduler;
import org.apache.spark.scheduler.ShuffleMapStage;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.storage.RDDInfo;
import scala.Option;
import scala.collection.Iterator;

/**
 * Which stage of its job a task set is, by what does not change from one micro-batch to the next.
 *
 * Ids of stages do not say it: siblings, as the two sides of a join, get theirs in the order of a hash set of objects
 * with identity hashes. RDDs are made in the order of the plan. `JobStart` in Python says the same from events.
 */
final class StageSignature {
    /** Rank of the stage among those of its job by their last RDD; -1 if another stage ends in the same one. */
    final int ordinal;
    /** "STAGES TASKS OPERATORS": stages of the job, tasks of the stage, its operators in the order of their RDDs. */
    final String text;
    /** True if its tasks keep state from one batch to the next. */
    final boolean keepsState;
    /** True if its job ends in an exchange, as adaptive execution makes them: ranks in it are not those of the plan. */
    final boolean isAdaptive;

    /** True if its tasks read the output of no other stage. */
    final boolean isSource;
    /** Where the program asks for the job, as Spark's pages name it. */
    final String site;
    /** Tasks of all stages of the job. */
    final int jobTasks;

    private StageSignature(int ordinal, String text, boolean keepsState, boolean isAdaptive, boolean isSource, String site,
            int jobTasks) {
        this.ordinal = ordinal;
        this.text = text;
        this.keepsState = keepsState;
        this.isAdaptive = isAdaptive;
        this.isSource = isSource;
        this.site = site;
        this.jobTasks = jobTasks;
    }

    /** A job is what a task set calls its priority. */
    static StageSignature of(DAGScheduler scheduler, TaskSet set) {
        Option<?> own = scheduler.stageIdToStage().get((Object) Integer.valueOf(set.stageId()));
        Option<?> job = scheduler.jobIdToStageIds().get((Object) Integer.valueOf(set.priority()));
        if (own.isEmpty() || job.isEmpty()) {
            return new StageSignature(-1, "unknown", true, false, true, "unknown", 0);
        }
        Stage stage = (Stage) own.get();
        int rank = 0;
        int same = 0;
        int count = 0;
        int tasks = 0;
        Iterator<?> ids = ((scala.collection.Iterable<?>) (Object) job.get()).iterator();
        while (ids.hasNext()) {
            Option<?> other = scheduler.stageIdToStage().get(ids.next());
            int rdd = other.isDefined() ? ((Stage) other.get()).rdd().id() : -1;
            rank += rdd < stage.rdd().id() ? 1 : 0;
            same += rdd == stage.rdd().id() ? 1 : 0;
            tasks += other.isDefined() ? ((Stage) other.get()).numTasks() : 0;
            count++;
        }
        Option<?> active = scheduler.jobIdToActiveJob().get((Object) Integer.valueOf(set.priority()));
        Stage last = active.isDefined() ? ((ActiveJob) active.get()).finalStage() : stage;
        boolean isAdaptive = active.isDefined() && last instanceof ShuffleMapStage;
        String text = count + " " + stage.numTasks() + " " + operators(stage);
        return new StageSignature(same == 1 ? rank : -1, text, keepsState(stage), isAdaptive,
            stage.parents().isEmpty(), last.name(), tasks);
    }

    /** Whether an RDD of the stage reads or writes state: an RDD without a name of its own has that of its class. */
    private static boolean keepsState(Stage stage) {
        Iterator<?> rdds = ((scala.collection.Iterable<?>) (Object) stage.latestInfo().rddInfos()).iterator();
        boolean found = false;
        while (rdds.hasNext()) {
            found |= String.valueOf(((RDDInfo) rdds.next()).name()).contains("StateStore");
        }
        return found;
    }

    /** Names of operators without the numbers of generated code, which depend on the other stages; no repetitions. */
    private static String operators(Stage stage) {
        TreeMap<Integer, String> names = new TreeMap<Integer, String>();
        Iterator<?> rdds = ((scala.collection.Iterable<?>) (Object) stage.latestInfo().rddInfos()).iterator();
        while (rdds.hasNext()) {
            RDDInfo rdd = (RDDInfo) rdds.next();
            Option<?> scope = rdd.scope();
            if (scope.isDefined()) {
                String name = ((RDDOperationScope) scope.get()).name();
                names.put(Integer.valueOf(rdd.id()), name.replaceAll(" *\\([0-9]+\\)", "").trim());
            }
        }
        StringBuilder text = new StringBuilder();
        String before = "";
        java.util.Iterator<?> all = names.values().iterator();
        while (all.hasNext()) {
            String name = (String) all.next();
            if (!name.equals(before)) {
                text.append(text.length() == 0 ? "" : ",").append(name);
            }
            before = name;
        }
        return text.toString();
    }
}
