package headworks.spark;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;

/**
 * Compares jobs under a policy with like ones that Spark alone runs, and has the policy step back from kinds of jobs that
 * it makes longer. A query of SQL, or a batch, is compared whole: its jobs are under the policy together, or none is.
 */
final class PolicyTrials extends SparkListener {
    static final String SETTING = "spark.headworks.slowdown";
    private static final double USUAL = 1.05;
    private static final String[] WHOLE = {"spark.sql.execution.root.id", "spark.sql.execution.id"};
    private static final String QUERY = "sql.streaming.queryId";

    /** How many times as long a job may take; 0 if nothing is compared. */
    private final double bound;
    private final Map<String, PolicyTrial> trials = new Recent<PolicyTrial>();
    private final Map<String, Run> runs = new Recent<Run>();

    PolicyTrials(SparkConf conf) {
        bound = parsed(conf.get(SETTING, String.valueOf(USUAL)));
    }

    private static double parsed(String text) {
        double found = 0;
        try {
            found = text.equals("off") ? 0 : Math.max(Double.parseDouble(text), 0);
        } catch (NumberFormatException error) {
            found = -1;
        }
        if (found == 0 && text.equals("off") || found >= 1) {
            return found;
        }
        Faults.say(SETTING + " is '" + text + "', which is neither 1 or more, nor off: " + USUAL + " is used", null);
        return USUAL;
    }

    /** True if Spark alone is to run the tasks of a set, which a policy is for. */
    synchronized boolean leaves(String policy, TaskSet set, StageSignature found) {
        if (bound == 0) {
            return false;
        }
        String whole = whole(set);
        Run run = (Run) runs.get(whole);
        if (run == null) {
            run = new Run(trial(policy, set.properties(), found), "the policy " + policy + " steps back from jobs like '"
                + found.site + "'");
            runs.put(whole, run);
        }
        return run.isAlone;
    }

    /** What a job is compared as a part of: a query of SQL, a batch, itself. */
    private static String whole(TaskSet set) {
        Properties properties = set.properties();
        String id = null;
        for (int i = 0; properties != null && id == null && i < WHOLE.length; i++) {
            id = properties.getProperty(WHOLE[i]);
        }
        return id == null ? "job " + set.priority() : id;
    }

    private PolicyTrial trial(String policy, Properties properties, StageSignature found) {
        String query = properties == null ? null : properties.getProperty(QUERY);
        String kind = policy + " " + query + " " + found.site + " " + found.jobTasks + " " + found.ordinal + " " + found.text;
        PolicyTrial trial = (PolicyTrial) trials.get(kind);
        if (trial == null) {
            trial = new PolicyTrial(bound, kind.hashCode());
            trials.put(kind, trial);
        }
        return trial;
    }

    public void onJobEnd(SparkListenerJobEnd event) {
        end("job " + event.jobId(), event.time(), String.valueOf(event.jobResult()).equals("JobSucceeded"));
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionEnd) {
            SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
            boolean failed = end.errorMessage().isDefined() && !String.valueOf(end.errorMessage().get()).isEmpty();
            end(String.valueOf(end.executionId()), end.time(), !failed);
        }
    }

    private void end(String whole, long time, boolean ok) {
        try {
            String said = ended(whole, time, ok);
            if (said != null) {
                Faults.say(said, null);
            }
        } catch (Throwable error) {
            Faults.say("jobs under a policy are not compared: " + error, error);
        }
    }

    /** The sentence to say; null if there is none. */
    private synchronized String ended(String whole, long time, boolean ok) {
        Run run = (Run) runs.remove(whole);
        if (run == null || !run.counts || !ok || !run.trial.add(run.isAlone, (time - run.begun) / 1e3, now())) {
            return null;
        }
        return run.said + " for good: " + run.trial.words() + " (" + SETTING + " is the bound; off compares nothing)";
    }

    static double now() {
        return System.nanoTime() / 1e9;
    }

    /** A query, batch or job that runs. */
    private static final class Run {
        final PolicyTrial trial;
        final String said;
        final boolean counts;
        final boolean isAlone;
        /** By the clock of Spark's events. */
        final long begun = System.currentTimeMillis();

        Run(PolicyTrial trial, String said) {
            this.trial = trial;
            this.said = said;
            counts = !trial.rests(now());
            isAlone = trial.leaves(now());
        }
    }

    /** What was asked for last: Spark drops events where there are too many, and an application may have many kinds. */
    private static final class Recent<V> extends LinkedHashMap<String, V> {
        private static final int MOST = 1000;

        Recent() {
            super(16, 0.75f, true);
        }

        protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
            return size() > MOST;
        }
    }
}
