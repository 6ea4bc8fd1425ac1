package headworks.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.generated.WorkerResources;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.WorkerSlot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the resources of a worker as they are stored while its executors stay.
 *
 * Nimbus adds them up anew in each round, in the order of a hash map of all executors of the topology that are alive.
 * Fractions then add up to another number in the last digit, and a supervisor restarts a worker for any other number.
 */
final class WorkerSums {
    private static final Logger LOG = LoggerFactory.getLogger(WorkerSums.class);
    /** Part of a number by which two sums of the same numbers may differ. */
    private static final double LAST_DIGITS = 1e-9;

    private final Stored stored;
    private final long longest;
    private Map<String, Map<WorkerSlot, Sum>> before;
    private long last;

    /** Take what reads the stored sums, and the nanoseconds after a round for which no other Nimbus can have led. */
    WorkerSums(Stored stored, long longest) {
        this.stored = stored;
        this.longest = longest;
    }

    /** Put back the sums that are stored where others differ from them in the last digits alone. */
    void keep(Cluster cluster) {
        Map<String, Map<WorkerSlot, Sum>> earlier = before(cluster);
        Map<String, Map<WorkerSlot, Sum>> now = new HashMap<>();
        cluster.getAssignments().forEach((topology, assignment) -> {
            Map<WorkerSlot, Set<ExecutorDetails>> running = Layout.running(cluster, topology);
            Map<WorkerSlot, Sum> sums = new HashMap<>();
            assignment.getScheduledResources().replaceAll((slot, resources) -> {
                Sum sum = new Sum(running.getOrDefault(slot, Set.of()), resources);
                sums.put(slot, sum.like(earlier.getOrDefault(topology, Map.of()).get(slot)));
                return sums.get(slot).resources;
            });
            now.put(topology, sums);
        });
        before = now;
        last = System.nanoTime();
    }

    /** Those of the round before; those in ZooKeeper where another Nimbus may have led since. */
    private Map<String, Map<WorkerSlot, Sum>> before(Cluster cluster) {
        if (before != null && System.nanoTime() - last <= longest) {
            return before;
        }
        if (cluster.getAssignments().values().stream().noneMatch(WorkerSums::hasFractions)) {
            return Map.of();
        }
        try {
            return stored.of(cluster.getAssignments().keySet());
        } catch (InterruptedException asked) {
            Thread.currentThread().interrupt();
            return Map.of();
        } catch (Exception unknown) {
            LOG.warn("What is stored of workers' resources cannot be read; Nimbus stores its own sums: {}", unknown.toString());
            return Map.of();
        }
    }

    /** Whole numbers add up to the same in any order. */
    private static boolean hasFractions(SchedulerAssignment assignment) {
        return assignment.getScheduledResources().values().stream().anyMatch(
            each -> each.get_resources().values().stream().anyMatch(value -> value != Math.rint(value)));
    }

    /** Reads the sums that are stored of some topologies. */
    interface Stored {
        Map<String, Map<WorkerSlot, Sum>> of(Collection<String> topologies) throws Exception;
    }

    /** The resources of a worker, and the executors whose sum they are. */
    static final class Sum {
        private final Set<ExecutorDetails> executors;
        private final WorkerResources resources;

        Sum(Set<ExecutorDetails> executors, WorkerResources resources) {
            this.executors = executors;
            this.resources = resources;
        }

        private Sum like(Sum earlier) {
            boolean same = earlier != null && earlier.executors.equals(executors)
                && near(earlier.resources.get_resources(), resources.get_resources())
                && near(earlier.resources.get_shared_resources(), resources.get_shared_resources());
            return same ? earlier : this;
        }

        private static boolean near(Map<String, Double> some, Map<String, Double> others) {
            if (some == null || others == null) {
                return some == others;
            }
            Set<String> names = new HashSet<>(some.keySet());
            names.addAll(others.keySet());
            return names.stream().allMatch(name -> near(some.get(name), others.get(name)));
        }

        private static boolean near(Double one, Double other) {
            return one != null && other != null && Math.abs(one - other) <= LAST_DIGITS * Math.max(one, other);
        }
    }
}
