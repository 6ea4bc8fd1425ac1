package headgate.spark;

import java.util.ArrayList;
import org.apache.spark.scheduler.TaskLocality$;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.util.SystemClock;
import scala.collection.Iterator;
import scala.collection.mutable.ArrayBuffer;

/** The tasks of one attempt of a placed stage: they wait for their host as long as an executor is alive there. */
final class PlacedTaskSet extends TaskSetManager {
    /** Null while the constructor of the superclass runs: the tasks have their places already then. */
    private final PlacingScheduler scheduler;
    private final String scope;
    private final int stage;

    PlacedTaskSet(PlacingScheduler scheduler, TaskSet set, int maxTaskFailures, String scope, int stage) {
        super(scheduler, set, maxTaskFailures, scheduler.healthTrackerOpt(), new SystemClock());
        this.scheduler = scheduler;
        this.scope = scope;
        this.stage = stage;
        stayOnHost();
    }

    /** Called for every task that has to run again: its place may have changed or died since. */
    public void addPendingTask(int index, boolean resolveRacks, boolean speculatable) {
        if (scheduler != null) {
            scheduler.place(tasks()[index], scope, stage);
        }
        super.addPendingTask(index, resolveRacks, speculatable);
    }

    /** Called when an executor comes, goes, or is about to go. */
    public void recomputeLocality() {
        leaveDeadHosts();
        super.recomputeLocality();
        stayOnHost();
    }

    /** Tasks that wait for a dead host would hold up all others: delay scheduling counts them as runnable there. */
    private void leaveDeadHosts() {
        ArrayList<String> dead = new ArrayList<String>();
        Iterator<?> hosts = pendingTasks().forHost().keysIterator();
        while (hosts.hasNext()) {
            String host = (String) hosts.next();
            if (!scheduler.hasExecutorsAliveOnHost(host)) {
                dead.add(host);
            }
        }
        for (int i = 0; i < dead.size(); i++) {
            Object waiting = pendingTasks().forHost().remove((String) dead.get(i)).get();
            Iterator<?> tasks = ((ArrayBuffer<?>) waiting).iterator();
            while (tasks.hasNext()) {
                addAgain(((Integer) tasks.next()).intValue());
            }
        }
    }

    private void addAgain(int index) {
        if (copiesRunning()[index] == 0 && !successful()[index]) {
            addPendingTask(index, true, false);
        }
    }

    /** `spark.locality.wait` stays what it is for every other stage. */
    private void stayOnHost() {
        Object[] levels = myLocalityLevels();
        for (int i = 0; i < levels.length; i++) {
            if (levels[i].equals(TaskLocality$.MODULE$.NODE_LOCAL())) {
                localityWaits()[i] = Long.MAX_VALUE;
            }
        }
    }
}
