package headworks.storm.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.storm.Config;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The worker's end, and a real collector in a Python process. */
@Timeout(600)
class WireTest {
    private static final String TOKEN = "9e".repeat(32);

    @TempDir
    Path folder;
    private Process collector;
    private BufferedReader said;
    private String address;

    @BeforeEach
    void collect() throws Exception {
        Path script = Paths.get(WireTest.class.getResource("/collector.py").toURI());
        collector = new ProcessBuilder(System.getProperty("headworks.python", "python3"), script.toString(), TOKEN)
            .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        said = new BufferedReader(new InputStreamReader(collector.getInputStream(), StandardCharsets.UTF_8));
        address = "127.0.0.1:" + said.readLine();
    }

    @AfterEach
    void end() {
        collector.destroyForcibly().onExit().join();
    }

    private static String report(String topology) {
        return "{\"v\":1,\"topology\":\"" + topology + "\",\"supervisor\":\"s\",\"host\":\"h\",\"port\":6700,\"started\":1,"
            + "\"number\":1,\"time\":1,\"window\":5000,\"dropped\":0,\"cpu\":1,\"heap\":1,\"sample\":0,"
            + "\"tasks\":[],\"flows\":[],\"executors\":[]}\n";
    }

    private static void handOut(String secret, String topology, Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("secret"), secret + "\n");
        TopologyToken nimbus = new TopologyToken();
        nimbus.prepare(Map.of(Settings.TOKEN_FILE, file.toString()));
        Map<String, String> credentials = new HashMap<>();
        nimbus.populateCredentials(credentials, Map.of(Config.STORM_ID, topology), "alice");
        Files.delete(file);
        assertFalse(credentials.toString().contains(secret));
        new TopologyToken().populateSubject(null, credentials);
    }

    @Test
    void isLetInByTheFileOfTheCollectorsToken() throws Exception {
        Path file = Files.writeString(folder.resolve("token"), TOKEN + "\n");
        Wire wire = new Wire(
            Settings.of(Map.of(Settings.COLLECTOR, address, Settings.TOKEN_FILE, file.toString())), "wc-1-2");
        wire.send(report("wc-1-2"));
        assertEquals("wc-1-2", said.readLine());
        assertEquals(0, wire.dropped());
        wire.close();
    }

    @Test
    void isLetInByTheTokenThatNimbusHandsOutWithoutAnyFile() throws Exception {
        handOut(TOKEN, "wörter-1-2", folder);
        Wire wire = new Wire(Settings.of(Map.of(Settings.COLLECTOR, address)), "wörter-1-2");
        wire.send(report("wörter-1-2"));
        assertEquals("wörter-1-2", said.readLine());
        wire.close();
        Wire other = new Wire(Settings.of(Map.of(Settings.COLLECTOR, address)), "other-3-4");
        other.send(report("other-3-4"));
        assertEquals(1, other.dropped());
    }

    @Test
    void isNotLetInWithTheTokenOfAnotherCollector() throws Exception {
        handOut("00".repeat(32), "late-1-2", folder);
        Wire wire = new Wire(Settings.of(Map.of(Settings.COLLECTOR, address)), "late-1-2");
        wire.send(report("late-1-2"));
        assertEquals(1, wire.dropped());
    }

    @Test
    void tellsAStrangerNeitherTokenNorReport() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            CompletableFuture<String> heard = CompletableFuture.supplyAsync(() -> {
                try (Socket caller = server.accept()) {
                    caller.getOutputStream().write(("ab".repeat(16) + " " + "cd".repeat(32) + "\n").getBytes(
                        StandardCharsets.UTF_8));
                    InputStream in = caller.getInputStream();
                    return new String(in.readAllBytes(), StandardCharsets.UTF_8);
                } catch (Exception e) {
                    return e.toString();
                }
            });
            Wire wire = new Wire(Settings.of(Map.of(
                Settings.COLLECTOR, "127.0.0.1:" + server.getLocalPort(), Settings.TOKEN, TOKEN)), "wc-1-2");
            wire.send(report("wc-1-2"));
            assertEquals(1, wire.dropped());
            String hello = heard.get(300, TimeUnit.SECONDS);
            assertEquals(1, hello.lines().count(), hello);
            assertFalse(hello.contains(TOKEN) || hello.contains("topology"), hello);
        }
    }

    @Test
    void failsNoSubmissionForATokenThatIsNotThere() {
        TopologyToken nimbus = new TopologyToken();
        nimbus.prepare(Map.of(Settings.TOKEN_FILE, folder.resolve("none").toString()));
        Map<String, String> credentials = new HashMap<>();
        nimbus.populateCredentials(credentials, Map.of(Config.STORM_ID, "t"), "alice");
        assertEquals(Map.of(), credentials);
    }

    @Test
    void handsEachTopologyAnotherToken() {
        TopologyToken nimbus = new TopologyToken();
        nimbus.prepare(Map.of(Settings.TOKEN, TOKEN));
        Map<String, String> one = new HashMap<>();
        Map<String, String> two = new HashMap<>();
        nimbus.populateCredentials(one, Map.of(Config.STORM_ID, "one"), "alice");
        nimbus.populateCredentials(two, Map.of(Config.STORM_ID, "two"), "bob");
        assertNotEquals(one.values().iterator().next(), two.values().iterator().next());
    }
}
