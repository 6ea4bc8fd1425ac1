package headworks.storm.seats;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.storm.task.TopologyContext;

/** The tasks from which a bolt has tuples, and who of their seats owns them now; never changed. */
final class Upstream {
    final Sources sources;
    /** By logical task upstream, the physical task that is its owner. */
    final int[] current;

    /** @param context of the physical task of the bolt */
    Upstream(SeatWorker worker, TopologyContext context) {
        List<int[]> seats = new ArrayList<>();
        List<Integer> owners = new ArrayList<>();
        TreeSet<String> components = new TreeSet<>();
        context.getThisSources().keySet().stream().filter(each -> !each.get_streamId().equals(Seating.STREAM))
            .forEach(each -> components.add(each.get_componentId()));
        for (String each : components) {
            TaskIds.Seats movable = worker.ids.seats(each);
            for (int i = 0; movable != null && i < movable.tasks; i++) {
                seats.add(movable.all(i));
                owners.add(worker.owners().table(each).seat(i));
            }
            for (int fixed : movable == null ? context.getComponentTasks(each) : List.<Integer>of()) {
                seats.add(new int[] {fixed});
                owners.add(fixed);
            }
        }
        sources = new Sources(seats);
        current = owners.stream().mapToInt(each -> each).toArray();
    }
}
