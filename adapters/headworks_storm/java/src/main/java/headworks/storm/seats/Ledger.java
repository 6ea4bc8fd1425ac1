package headworks.storm.seats;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.apache.storm.Config;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.shade.org.apache.curator.framework.api.CuratorWatcher;
import org.apache.storm.shade.org.apache.curator.framework.state.ConnectionState;
import org.apache.storm.shade.org.apache.zookeeper.CreateMode;
import org.apache.storm.shade.org.apache.zookeeper.KeeperException;
import org.apache.storm.shade.org.apache.zookeeper.Watcher;
import org.apache.storm.shade.org.apache.zookeeper.data.Stat;
import org.apache.storm.shade.net.minidev.json.JSONValue;
import org.apache.storm.utils.CuratorUtils;
import org.apache.storm.utils.ObjectReader;

/**
 * Who owns which task, in ZooKeeper: {@code headworks/seats/TOPOLOGY/components/COMPONENT}, under the root of its Storm, has a
 * {@link LedgerPage}, changed by compare-and-set alone, and
 * {@code .../workers/HOST:PORT} what each worker that runs says of its seats: {@code [component,index,...]} by physical task,
 * with what {@link SeatStatus#told} adds.
 */
final class Ledger implements AutoCloseable {
    private final CuratorFramework zookeeper;
    /** Of one Storm: others may have their own in this ZooKeeper. */
    private final String root;
    private final String topologies;
    private final String topology;
    /** One for each node: ZooKeeper tells one and the same watcher once of a change, however often it was given. */
    private final Map<String, CuratorWatcher> watchers = new ConcurrentHashMap<>();

    /**
     * Reach the ZooKeeper of a worker's Storm.
     *
     * @param conf of the topology
     * @param id of the topology
     */
    Ledger(Map<String, Object> conf, String id) {
        List<String> servers = ObjectReader.getStrings(conf.get(Config.STORM_ZOOKEEPER_SERVERS));
        zookeeper = CuratorUtils.newCuratorStarted(conf, servers, conf.get(Config.STORM_ZOOKEEPER_PORT), "", null, null);
        root = conf.get(Config.STORM_ZOOKEEPER_ROOT) + "/headworks/seats";
        topologies = conf.get(Config.STORM_ZOOKEEPER_ROOT) + "/storms";
        topology = id;
    }

    private String path(String kind, String name) {
        return root + "/" + topology + "/" + kind + "/" + name;
    }

    /** Make the page of a component if there is none. */
    void open(String component, LedgerPage first) throws Exception {
        create(path("components", component), first.json(), CreateMode.PERSISTENT);
    }

    private void create(String path, String content, CreateMode mode) throws Exception {
        try {
            zookeeper.create().creatingParentsIfNeeded().withMode(mode).forPath(path, bytes(content));
        } catch (KeeperException.NodeExistsException there) {
            // and it stays as it is
        }
    }

    /** Forget topologies that are gone. */
    void tidy() throws Exception {
        List<String> running = zookeeper.getChildren().forPath(topologies);
        for (String each : zookeeper.getChildren().forPath(root)) {
            if (!running.contains(each)) {
                zookeeper.delete().deletingChildrenIfNeeded().forPath(root + "/" + each);
            }
        }
    }

    /** True until the topology is killed. */
    boolean runs() throws Exception {
        return zookeeper.checkExists().forPath(topologies + "/" + topology) != null;
    }

    /**
     * Milliseconds from the submission of the topology to the first page of a component, by ZooKeeper's clock, which may have been
     * set in between, forwards or back; 0 if not known.
     */
    long age(String component) throws Exception {
        Stat submitted = zookeeper.checkExists().forPath(topologies + "/" + topology);
        Stat page = zookeeper.checkExists().forPath(path("components", component));
        return submitted == null || page == null ? 0 : Math.abs(page.getCtime() - submitted.getCtime());
    }

    /**
     * Hear when ZooKeeper is there again: a session may have ended, and with it what was said here and what was to be told.
     *
     * @param again run on a thread of ZooKeeper's client
     */
    void onReturn(Runnable again) {
        zookeeper.getConnectionStateListenable().addListener((client, state) -> {
            if (state == ConnectionState.RECONNECTED) {
                again.run();
            }
        });
    }

    /**
     * The page of a component.
     *
     * @param changed run once when it has changed, on a thread of ZooKeeper's client; that of the first call, each time
     */
    LedgerPage page(String component, Runnable changed) throws Exception {
        String path = path("components", component);
        CuratorWatcher watcher = watchers.computeIfAbsent(path, any -> event -> {
            if (event.getType() != Watcher.Event.EventType.None) { // else it is of the connection
                changed.run();
            }
        });
        byte[] content = zookeeper.getData().usingWatcher(watcher).forPath(path);
        return LedgerPage.read(new String(content, StandardCharsets.UTF_8));
    }

    /** Change a page by compare-and-set, again on what another has written meanwhile; returns what it is then. */
    LedgerPage change(String component, UnaryOperator<LedgerPage> change) throws Exception {
        String path = path("components", component);
        while (true) {
            Stat stat = new Stat();
            String old = new String(zookeeper.getData().storingStatIn(stat).forPath(path), StandardCharsets.UTF_8);
            LedgerPage page = LedgerPage.read(old);
            LedgerPage fresh = change.apply(page);
            if (fresh == page) {
                return page;
            }
            try {
                zookeeper.setData().withVersion(stat.getVersion()).forPath(path, bytes(fresh.json()));
                return fresh;
            } catch (KeeperException.BadVersionException another) {
                // somebody was faster
            }
        }
    }

    /**
     * Say what the seats of a worker are, for as long as it lives.
     *
     * @param removed run when somebody has removed that, on a thread of ZooKeeper's client; that of the first call, each time
     */
    void tell(String worker, Map<String, Object> seats, Runnable removed) throws Exception {
        String path = path("workers", worker);
        put(path, JSONValue.toJSONString(seats));
        CuratorWatcher watcher = watchers.computeIfAbsent(path, any -> event -> {
            if (event.getType() == Watcher.Event.EventType.NodeDeleted) {
                removed.run();
            }
        });
        if (zookeeper.checkExists().usingWatcher(watcher).forPath(path) == null) {
            removed.run();
        }
    }

    private void put(String path, String text) throws Exception {
        try {
            Stat stat = zookeeper.checkExists().forPath(path);
            if (stat != null && stat.getEphemeralOwner() != zookeeper.getZookeeperClient().getZooKeeper().getSessionId()) {
                zookeeper.delete().forPath(path); // of the worker's last life
                stat = null;
            }
            if (stat != null) {
                zookeeper.setData().forPath(path, bytes(text));
            } else {
                create(path, text, CreateMode.EPHEMERAL);
            }
        } catch (KeeperException.NoNodeException gone) {
            create(path, text, CreateMode.EPHEMERAL);
        }
    }

    /** What each worker said last, by its name. */
    @SuppressWarnings("unchecked")
    Map<String, Map<String, Object>> workers() throws Exception {
        Map<String, Map<String, Object>> found = new HashMap<>();
        String parent = root + "/" + topology + "/workers";
        for (String name : new ArrayList<>(zookeeper.getChildren().forPath(parent))) {
            try {
                String text = new String(zookeeper.getData().forPath(parent + "/" + name), StandardCharsets.UTF_8);
                found.put(name, (Map<String, Object>) JSONValue.parse(text));
            } catch (KeeperException.NoNodeException gone) {
                // it ended just now
            }
        }
        return found;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        zookeeper.close();
    }
}
