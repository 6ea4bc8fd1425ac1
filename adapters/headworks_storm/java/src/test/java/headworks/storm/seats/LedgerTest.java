package headworks.storm.seats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.storm.Config;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.shade.org.apache.zookeeper.KeeperException;
import org.apache.storm.shade.org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.storm.utils.CuratorUtils;
import org.apache.storm.utils.Utils;
import org.apache.storm.zookeeper.Zookeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ledger in a ZooKeeper of the test's own, which two workers reach. */
class LedgerTest {
    private static final String COUNT = "count";

    @TempDir
    Path folder;
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    private NIOServerCnxnFactory server;
    private Ledger ledger;
    private Ledger another;
    private Map<String, Object> conf;
    private CuratorFramework storms;
    private long epoch;

    @BeforeEach
    void start() throws Exception {
        server = Zookeeper.mkInprocessZookeeper(folder.toString(), null);
        conf = Utils.readStormConfig();
        conf.put(Config.STORM_ZOOKEEPER_SERVERS, List.of("localhost"));
        conf.put(Config.STORM_ZOOKEEPER_PORT, server.getLocalPort());
        ledger = new Ledger(conf, "t-1");
        another = new Ledger(conf, "t-1");
        storms = CuratorUtils.newCuratorStarted(conf, List.of("localhost"), server.getLocalPort(), "", null, null);
        ledger.open(COUNT, LedgerPage.first(Table.of(10, 13)));
    }

    @AfterEach
    void stop() {
        ledger.close();
        another.close();
        storms.close();
        Zookeeper.shutdownInprocessZookeeper(server);
    }

    private void change() throws Exception {
        epoch++;
        another.change(COUNT, page -> page.keep(0, 10, epoch, "a"));
    }

    private LedgerPage read() throws Exception {
        return ledger.page(COUNT, () -> heard.add("changed"));
    }

    private String next() throws InterruptedException {
        return heard.poll(60, TimeUnit.SECONDS);
    }

    @Test
    void aChangeIsToldOnceHoweverOftenThePageWasReadBefore() throws Exception {
        for (int i = 0; i < 3; i++) {
            read();
            read();
            change();
            assertEquals("changed", next());
            assertEquals(epoch, read().entry(0).epoch);
        }
        assertNull(heard.poll(1, TimeUnit.SECONDS));
    }

    @Test
    void aPageThatIsGoneIsToldAndHowOldItsTopologyWasWhenItCame() throws Exception {
        assertEquals(0, ledger.age(COUNT), "nobody knows when it was submitted");
        assertFalse(ledger.runs());
        storms.create().creatingParentsIfNeeded().forPath("/storm/storms");
        read();
        another.tidy();
        assertEquals("changed", next());
        assertThrows(KeeperException.NoNodeException.class, this::read);
        storms.create().forPath("/storm/storms/t-1");
        assertTrue(ledger.runs());
        Thread.sleep(20);
        another.open(COUNT, LedgerPage.first(Table.of(10, 13)));
        assertTrue(ledger.age(COUNT) >= 20);
        assertTrue(read().untouched());
    }

    @Test
    void aStormForgetsNothingOfAnotherOneInTheSameZooKeeper() throws Exception {
        conf.put(Config.STORM_ZOOKEEPER_ROOT, "/another");
        try (Ledger other = new Ledger(conf, "t-2")) {
            other.open(COUNT, LedgerPage.first(Table.of(10, 13)));
            storms.create().creatingParentsIfNeeded().forPath("/another/storms");
            other.tidy();
            assertThrows(KeeperException.NoNodeException.class, () -> other.page(COUNT, () -> { }));
        }
        assertTrue(read().untouched());
    }

    @Test
    void whatAWorkerSaysIsSaidAgainIfSomebodyRemovesIt() throws Exception {
        for (int i = 0; i < 3; i++) {
            ledger.tell("host:1", Map.of("seats", Map.of("7", List.of(i))), () -> heard.add("removed"));
            ledger.tell("host:1", Map.of("seats", Map.of("7", List.of(i))), () -> heard.add("removed"));
            storms.delete().forPath("/storm/headworks/seats/t-1/workers/host:1");
            assertEquals("removed", next());
        }
        assertNull(heard.poll(1, TimeUnit.SECONDS));
        assertEquals(Set.of(), another.workers().keySet());
    }

    @Test
    void whenASessionHasEndedItIsToldAndAllCanBeSaidAndHeardAgain() throws Exception {
        ledger.onReturn(() -> heard.add("again"));
        ledger.tell("host:1", Map.of("seats", Map.of()), () -> { });
        read();
        ZooKeeperServer zookeeper = server.getZooKeeperServer();
        for (long session : zookeeper.getZKDatabase().getSessions()) {
            zookeeper.closeSession(session);
        }
        assertEquals("again", next());
        assertEquals(Set.of(), another.workers().keySet());
        ledger.tell("host:1", Map.of("seats", Map.of()), () -> { });
        assertEquals(Set.of("host:1"), another.workers().keySet());
        assertNotNull(read());
        change();
        assertEquals("changed", next());
    }
}
