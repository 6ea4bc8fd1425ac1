package headworks.storm.monitor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headworks.storm.peer.Proof;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class WiresTest {
    private static final int REPORTS = 20;
    private static final String SECRET = "secret";
    /** More than the buffers of a connection hold. */
    private static final String LONG = "x".repeat(4 << 20);

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static String address(ServerSocket server) {
        return "127.0.0.1:" + server.getLocalPort();
    }

    private static List<String> addresses(Object named) {
        return Settings.of(Map.of(Settings.COLLECTOR, named)).each().stream()
            .map(each -> each.host + ":" + each.port).collect(Collectors.toList());
    }

    @Test
    void takesOneAddressATextOfSeveralAndAList() {
        assertEquals(List.of("a:1"), addresses("a:1"));
        assertEquals(List.of("a:1", "b:2"), addresses(" a:1, b:2 ,,a:1"));
        assertEquals(List.of("a:1", "b:2"), addresses(List.of("a:1", "b:2")));
        assertNull(Settings.of(Map.of()));
        assertNull(Settings.of(Map.of(Settings.COLLECTOR, " , ")));
    }

    @Test
    void oneThatIsGoneAndOneThatIsSlowDelayNoOther() throws Exception {
        try (ServerSocket good = listen(); ServerSocket slow = listen(); ServerSocket gone = listen()) {
            String dead = address(gone);
            gone.close();
            Wires wires = new Wires(Settings.of(Map.of(
                Settings.COLLECTOR, List.of(dead, address(slow), address(good)), Settings.TOKEN, SECRET)), "wc-1");
            long began = System.nanoTime();
            wires.send("first\n");
            try (Socket caller = good.accept(); Socket silent = slow.accept()) {
                believed(silent); // and it reads no report
                BufferedReader reader = believed(caller);
                assertEquals("first", reader.readLine());
                for (int number = 1; number <= REPORTS; number++) {
                    wires.send(LONG + number + "\n");
                    String line = reader.readLine();
                    assertTrue(line.endsWith("x" + number), () -> "not the report that was sent");
                }
                assertEquals(0, wires.dropped(), "one collector has them all");
                assertTrue(System.nanoTime() - began < 300_000_000_000L, "a slow collector delays the others");
                assertTrue(silent.isConnected());
            }
            wires.close();
        }
    }

    @Test
    void endsWhileACollectorTakesNothing() throws Exception {
        try (ServerSocket slow = listen(); ServerSocket other = listen()) {
            Wires wires = new Wires(Settings.of(Map.of(
                Settings.COLLECTOR, address(slow) + "," + address(other), Settings.TOKEN, SECRET)), "wc-1");
            wires.send(LONG + "\n");
            try (Socket first = slow.accept(); Socket second = other.accept()) {
                believed(first);
                believed(second);
                wires.close();
                assertEquals(-1, last(first), "the connection ends");
            }
        }
    }

    /** The listener's half of the proof. */
    private static BufferedReader believed(Socket caller) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(caller.getInputStream()));
        String[] asked = reader.readLine().split(" ");
        String nonce = "ab".repeat(16);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Proof.derive(SECRET, "wc-1").getBytes(UTF_8), "HmacSHA256"));
        byte[] proof = mac.doFinal(("headworks1 listener - " + asked[1] + " " + asked[2] + " " + nonce).getBytes(UTF_8));
        caller.getOutputStream().write((nonce + " " + String.format("%064x", new BigInteger(1, proof)) + "\n").getBytes(UTF_8));
        reader.readLine(); // the worker's own
        return reader;
    }

    private static int last(Socket socket) throws IOException {
        byte[] bytes = new byte[1 << 20];
        try {
            int read;
            do {
                read = socket.getInputStream().read(bytes);
            } while (read >= 0);
            return read;
        } catch (IOException reset) {
            return -1;
        }
    }
}
