package headworks.storm.seats;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.storm.daemon.GrouperFactory;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.grouping.LoadAwareCustomStreamGrouping;
import org.apache.storm.grouping.LoadMapping;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.utils.Utils;

/**
 * A grouping in place of the one that was asked for. One of Storm's own chooses, as Storm makes it, among the physical tasks in
 * which the logical ones live, in the order of the logical ones, and is made anew after a move. A custom one is prepared once,
 * with logical ids, and its answers are put into physical ones.
 */
public final class SeatGrouping implements LoadAwareCustomStreamGrouping {
    private static final long serialVersionUID = 1L;

    private final byte[] asked;
    private final String target;
    private transient Grouping grouping;
    private transient boolean custom;
    private transient boolean even;
    private transient WorkerTopologyContext context;
    private transient SeatWorker worker;
    private transient GlobalStreamId stream;
    /** Tasks of one executor share a grouping: each has its own choice. */
    private transient Map<Integer, Choice> choices;
    private transient Choice latest;
    private transient LoadMapping load;

    /**
     * Take the place of a grouping.
     *
     * @param asked the grouping
     * @param target the component that subscribed with it
     */
    SeatGrouping(Grouping asked, String target) {
        this.asked = Utils.thriftSerialize(asked);
        this.target = target;
    }

    /** Whether a grouping is a class of its own, of the user's or such as Storm's by partial keys. */
    static boolean custom(Grouping grouping) {
        return grouping.is_set_custom_object() || grouping.is_set_custom_serialized();
    }

    /** Whether a grouping deals tuples evenly, whatever they are: then it does not matter how many tasks there are. */
    static boolean even(Grouping grouping) {
        return grouping.is_set_shuffle() || grouping.is_set_local_or_shuffle() || grouping.is_set_none();
    }

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
        this.context = context;
        this.stream = stream;
        grouping = Utils.thriftDeserialize(Grouping.class, asked);
        custom = custom(grouping);
        even = even(grouping);
        worker = SeatWorker.of(context);
        choices = new ConcurrentHashMap<>();
    }

    @Override
    public List<Integer> chooseTasks(int task, List<Object> values) {
        Choice choice = latest;
        if (choice == null || choice.task != task) {
            choice = choices.computeIfAbsent(task, id -> custom ? new Mapped(id) : new Storms(id));
            latest = choice;
        }
        return choice.choose(values);
    }

    @Override
    public void refreshLoad(LoadMapping mapping) {
        load = mapping;
        choices.values().forEach(each -> each.refresh(mapping));
    }

    /** A grouper as Storm makes it. */
    private LoadAwareCustomStreamGrouping make(WorkerTopologyContext context, List<Integer> targets) {
        String source = stream.get_componentId();
        return GrouperFactory.mkGrouper(context, source, stream.get_streamId(),
            context.getComponentOutputFields(source, stream.get_streamId()), grouping, targets, context.getConf());
    }

    /** The choice of one task, under the lock of its emission. */
    private abstract class Choice {
        final int task;
        /** Null if the target has no seats. */
        final Emission.View view;

        Choice(int task) {
            this.task = task;
            view = worker.emission(task).view(target);
        }

        abstract List<Integer> choose(List<Object> values);

        abstract void refresh(LoadMapping load);
    }

    private final class Storms extends Choice {
        private List<Integer> owners = List.of();
        private volatile LoadAwareCustomStreamGrouping chooser;

        Storms(int task) {
            super(task);
        }

        @Override
        List<Integer> choose(List<Object> values) {
            List<Integer> now = even ? view.working : view.tasks;
            if (now != owners) {
                chooser = make(context, now);
                owners = now;
                if (load != null) {
                    chooser.refreshLoad(load);
                }
            }
            return chooser.chooseTasks(task, values);
        }

        @Override
        void refresh(LoadMapping load) {
            LoadAwareCustomStreamGrouping now = chooser;
            if (now != null) {
                now.refreshLoad(load);
            }
        }
    }

    private final class Mapped extends Choice {
        private final LoadAwareCustomStreamGrouping chooser;
        private final int plain;

        Mapped(int task) {
            super(task);
            plain = worker.ids.logical(task);
            chooser = make(worker.context, worker.context.getComponentTasks(target));
        }

        @Override
        List<Integer> choose(List<Object> values) {
            List<Integer> chosen = chooser.chooseTasks(plain, values);
            List<Integer> physical = new ArrayList<>(chosen.size());
            for (int each : chosen) {
                physical.add(worker.emission(task).physical(each));
            }
            return physical;
        }

        @Override
        void refresh(LoadMapping load) {
            Map<Integer, Double> loads = new HashMap<>();
            worker.context.getComponentTasks(target).forEach(id -> loads.put(id, load.get(worker.physical(id))));
            LoadMapping logical = new LoadMapping();
            logical.setLocal(loads);
            chooser.refreshLoad(logical);
        }
    }
}
