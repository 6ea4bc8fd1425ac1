package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Somebody else listens on the port of the endpoint file: Nimbus tells it nothing, and does nothing it says. */
@Timeout(600)
class HostileServerTest {
    private static final String TOKEN = "5c".repeat(32);
    private static final String PROPERTY = "headworks.test.hostile";
    /** What py4j's own client-server would do: a call of a static method, and an answer. */
    private static final String COMMAND = "c\nz:java.lang.System\nsetProperty\ns" + PROPERTY + "\nsyes\ne\n!ys{}\n";
    private static final String ROUND = "{\"nimbus\":\"n\",\"round\":1}";
    private static final String STRANGER = "who listens there does not know the token";

    @TempDir
    Path folder;
    private Path endpoint;
    private Bridge bridge;

    /** What is done with a connection. */
    interface Crime {
        void commit(InputStream in, OutputStream out) throws Exception;
    }

    /** A listener that keeps what it hears. */
    private static final class Hostile implements AutoCloseable {
        final ServerSocket server = new ServerSocket();
        final ByteArrayOutputStream heard = new ByteArrayOutputStream();

        Hostile(int port, Crime crime) throws IOException {
            server.setReuseAddress(true);
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            Thread thread = new Thread(() -> {
                while (!server.isClosed()) {
                    try (Socket caller = server.accept()) {
                        crime.commit(new Tap(caller.getInputStream(), heard), caller.getOutputStream());
                    } catch (Exception e) {
                        // the caller hung up, or the test is over
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        String heard() {
            return heard.toString(StandardCharsets.UTF_8);
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    private static final class Tap extends java.io.FilterInputStream {
        private final OutputStream copy;

        Tap(InputStream in, OutputStream copy) {
            super(in);
            this.copy = copy;
        }

        @Override
        public int read() throws IOException {
            int next = super.read();
            if (next >= 0) {
                copy.write(next);
            }
            return next;
        }
    }

    @BeforeEach
    void endpoint() {
        endpoint = folder.resolve("endpoint.json");
        bridge = bridge(3000);
        System.clearProperty(PROPERTY);
    }

    @AfterEach
    void close() {
        bridge.close();
        assertNull(System.getProperty(PROPERTY), "Nimbus did what a stranger said");
    }

    private Bridge bridge(int timeout) {
        Settings settings = Settings.of(Map.of(Settings.ENDPOINT, endpoint.toString(), Settings.TIMEOUT, timeout));
        return new Bridge(new Python(settings), settings.timeout);
    }

    private void write(int port, String token) throws IOException {
        Files.deleteIfExists(endpoint);
        Files.createFile(endpoint, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(endpoint, "{\"port\": " + port + ", \"token\": \"" + token + "\"}");
    }

    private Hostile hostile(Crime crime) throws IOException {
        Hostile server = new Hostile(0, crime);
        write(server.server.getLocalPort(), TOKEN);
        return server;
    }

    private void assertUnanswered(String why) {
        NoPlan said = assertThrows(NoPlan.class, () -> bridge.ask(ROUND));
        assertTrue(said.getMessage().contains(why), said.getMessage());
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("hung up");
            }
            line.append((char) next);
        }
        return line.toString();
    }

    private static void say(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static String proof(int port, String callersNonce, String nonce) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(TOKEN.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        String words = "headworks1 listener " + port + " nimbus " + callersNonce + " " + nonce;
        StringBuilder digits = new StringBuilder();
        for (byte each : mac.doFinal(words.getBytes(StandardCharsets.UTF_8))) {
            digits.append(String.format("%02x", each));
        }
        return digits.toString();
    }

    /** The listener's half of the exchange, by one who does know the token. */
    private static void prove(Hostile[] self, InputStream in, OutputStream out) throws Exception {
        String nonce = "ab".repeat(16);
        String asked = line(in).split(" ")[2];
        say(out, nonce + " " + proof(self[0].server.getLocalPort(), asked, nonce) + "\n");
        line(in);
    }

    @Test
    void tellsNoTokenAndDoesNoCommand() throws Exception {
        try (Hostile server = hostile((in, out) -> {
            line(in);
            say(out, "!yv\n" + COMMAND.repeat(3));
            in.transferTo(OutputStream.nullOutputStream());
        })) {
            assertUnanswered(STRANGER);
            assertTrue(server.heard().startsWith("headworks1 nimbus "), server.heard());
            assertFalse(server.heard().contains(TOKEN));
            assertEquals(1, server.heard().lines().count());
        }
    }

    @Test
    void doesNoCommandOfOneWhoKnowsTheToken() throws Exception {
        Hostile[] self = new Hostile[1];
        try (Hostile server = hostile((in, out) -> {
            prove(self, in, out);
            say(out, COMMAND);
            in.transferTo(OutputStream.nullOutputStream());
        })) {
            self[0] = server;
            assertUnanswered("it answered with no text");
            assertFalse(server.heard().contains(TOKEN));
        }
    }

    @Test
    void tellsNothingToWhoeverHasThePortOfAKilledPython() throws Exception {
        int port;
        String token;
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            assertTrue(Answer.parse(bridge.ask(ROUND)).reason.startsWith("pid "));
        }
        port = Json.MAPPER.readTree(Files.readAllBytes(endpoint)).path("port").asInt();
        token = Json.MAPPER.readTree(Files.readAllBytes(endpoint)).path("token").asText();
        try (Hostile server = new Hostile(port, (in, out) -> {
            line(in);
            say(out, COMMAND);
            in.transferTo(OutputStream.nullOutputStream());
        })) {
            assertUnanswered(STRANGER);
            assertFalse(server.heard().contains(token));
        }
    }

    @Test
    void believesNoProofOfAnEarlierExchange() throws Exception {
        String[] old = new String[1];
        Hostile[] self = new Hostile[1];
        try (Hostile server = hostile((in, out) -> {
            String asked = line(in).split(" ")[2];
            if (old[0] == null) {
                old[0] = "cd".repeat(16) + " " + proof(self[0].server.getLocalPort(), asked, "cd".repeat(16)) + "\n";
            }
            say(out, old[0]);
            line(in);
            say(out, "!ys{\"v\":1,\"nimbus\":\"n\",\"round\":1,\"mode\":\"hold\",\"reason\":\"mine\"}\n");
        })) {
            self[0] = server;
            assertEquals("mine", Answer.parse(bridge.ask(ROUND)).reason);
            assertUnanswered(STRANGER);
        }
    }

    @Test
    void believesNobodyWhoPassesItOnToTheRealOne() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            int real = Json.MAPPER.readTree(Files.readAllBytes(endpoint)).path("port").asInt();
            String token = Json.MAPPER.readTree(Files.readAllBytes(endpoint)).path("token").asText();
            try (Hostile server = new Hostile(0, (in, out) -> {
                try (Socket on = new Socket(InetAddress.getLoopbackAddress(), real)) {
                    say(on.getOutputStream(), line(in) + "\n");
                    say(out, line(on.getInputStream()) + "\n");
                    in.transferTo(on.getOutputStream());
                }
            })) {
                write(server.server.getLocalPort(), token);
                assertUnanswered(STRANGER);
                assertEquals(1, server.heard().lines().count());
                write(real, token);
                assertTrue(Answer.parse(bridge.ask(ROUND)).reason.startsWith("pid "));
            }
        }
    }

    @Test
    void readsNoFlood() throws Exception {
        try (Hostile server = hostile((in, out) -> {
            byte[] much = "x".repeat(1 << 20).getBytes(StandardCharsets.UTF_8);
            while (true) {
                out.write(much);
            }
        })) {
            assertUnanswered(STRANGER);
        }
    }

    @Test
    void readsNoAnswerThatWouldFillTheHeap() throws Exception {
        bridge.close();
        bridge = bridge(9000);
        Hostile[] self = new Hostile[1];
        long[] sent = new long[1];
        try (Hostile server = hostile((in, out) -> {
            prove(self, in, out);
            say(out, "!ys");
            byte[] much = "x".repeat(1 << 20).getBytes(StandardCharsets.UTF_8);
            while (true) {
                out.write(much);
                sent[0] += much.length;
            }
        })) {
            self[0] = server;
            assertUnanswered("an answer of more than 64 MB");
            assertTrue(sent[0] < 2L * Python.LONGEST, sent[0] + " bytes");
        }
    }

    @Test
    void waitsNoLongerForALineThatNeverEnds() throws Exception {
        bridge.close();
        bridge = bridge(1000);
        try (Hostile server = hostile((in, out) -> {
            while (true) {
                say(out, "a");
                Thread.sleep(50);
            }
        })) {
            long start = System.nanoTime();
            assertUnanswered("nothing within 1000 ms");
            assertTrue(System.nanoTime() - start < 60_000_000_000L);
        }
    }

    @Test
    void speaksToNoListenerOfAnotherUser() throws Exception {
        assumeTrue(Integer.valueOf(0).equals(uid()), "only root can run a process of another user");
        String code = "import os, socket\nos.setuid(65534)\ns = socket.create_server(('127.0.0.1', 0))\n"
            + "print(s.getsockname()[1], flush=True)\nc, _ = s.accept()\nprint('called', flush=True)\n";
        Process other = new ProcessBuilder(System.getProperty("headworks.python", "python3"), "-c", code).start();
        try (java.util.Scanner out = new java.util.Scanner(other.getInputStream(), StandardCharsets.UTF_8)) {
            write(out.nextInt(), TOKEN);
            assertUnanswered("user 65534 listens on port");
            assertTrue(other.isAlive());
            other.destroyForcibly();
            assertFalse(out.hasNext(), "it was called");
        }
    }

    @Test
    void readsTheTablesOfSockets() throws Exception {
        Path table = folder.resolve("tcp");
        String head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        String row = "   0: %s:1F90 00000000:0000 %s 00000000:00000000 00:00000000 00000000  %d        0 637 1\n";
        for (String address : new String[] {"0100007F", "00000000", "0000000000000000FFFF00000100007F", "0".repeat(32)}) {
            Files.writeString(table, head + String.format(row, address, "0A", 1001));
            assertThrows(NoPlan.class, () -> ListenerOwner.check(table, 8080, 1000));
            ListenerOwner.check(table, 8080, 1001);
            ListenerOwner.check(table, 8081, 1000);
        }
        Files.writeString(table, head + String.format(row, "0500A8C0", "0A", 1001));
        ListenerOwner.check(table, 8080, 1000);
        Files.writeString(table, head + String.format(row, "0100007F", "01", 1001));
        ListenerOwner.check(table, 8080, 1000);
    }

    private static Object uid() throws IOException {
        Path self = Path.of("/proc/self");
        return Files.exists(self) ? Files.getAttribute(self, "unix:uid") : null;
    }
}
