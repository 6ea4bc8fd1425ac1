package headworks.storm.seats;

import headworks.storm.monitor.WorkerTallies;
import java.util.Map;
import org.apache.storm.hooks.BaseWorkerHook;
import org.apache.storm.task.WorkerUserContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Starts in each worker of a topology with seats before its components are made: counts what their tasks do, and lets them move. */
public final class Agent extends BaseWorkerHook {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(Agent.class);
    private static final String SECURED = "storm.zookeeper.auth.scheme";

    private transient Movers movers;
    private transient WorkerTallies tallies;

    /** A worker without a ledger does not start: its seats would not know which of them own their tasks. */
    @Override
    public void start(Map<String, Object> conf, WorkerUserContext context) {
        WorkerTallies.unhook(conf);
        tallies = SeatWorker.of(context).report(conf, context);
        if (conf.get(SECURED) != null || conf.get("storm.zookeeper.topology.auth.scheme") != null) {
            LOG.warn("Tasks of {} do not move: the ledger does not speak to a ZooKeeper with a login", context.getStormId());
            return;
        }
        movers = new Movers(SeatWorker.of(context), conf, context);
        movers.start();
    }

    @Override
    public void shutdown() {
        if (tallies != null) {
            tallies.close();
        }
        if (movers != null) {
            movers.close();
        }
    }
}
