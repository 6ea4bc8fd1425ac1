package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The other end is a real Python process with Headworks. */
@Timeout(600)
class PythonTest {
    private static final int PATIENT = 9000;
    private static final int SHORT = 1000;
    private static final int LONGER = 3000;
    private static final String ROUND = "{\"nimbus\":\"n\",\"round\":1}";

    @TempDir
    Path folder;
    private Path endpoint;
    private Bridge bridge;

    @BeforeEach
    void bridge() {
        endpoint = folder.resolve("endpoint.json");
        bridge = bridge(PATIENT);
    }

    @AfterEach
    void close() {
        bridge.close();
    }

    private Bridge bridge(int timeout) {
        Settings settings = Settings.of(Map.of(Settings.ENDPOINT, endpoint.toString(), Settings.TIMEOUT, timeout));
        return new Bridge(new Python(settings), settings.timeout);
    }

    private void assertUnanswered(String why) {
        assertUnanswered(why, ROUND);
    }

    private void assertUnanswered(String why, String round) {
        NoPlan reason = assertThrows(NoPlan.class, () -> bridge.ask(round));
        assertEquals("Headworks does not answer (" + why.replace("FILE", endpoint.toString()) + ")", reason.getMessage());
    }

    private String reason(String round) throws InterruptedException {
        return Answer.parse(bridge.ask(round)).reason;
    }

    @Test
    void answersRoundAfterRound() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            for (int i = 0; i < 20; i++) {
                assertEquals("pid " + python.process.pid(), reason(ROUND));
            }
        }
    }

    @Test
    void takesTextOfAnyKindAndSize() throws Exception {
        String padding = "Ω\\n\n\r\"".repeat(20_000);
        String round = Json.MAPPER.createObjectNode().put("nimbus", "n").put("round", 1).put("x", padding).toString();
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            assertEquals("pid " + python.process.pid(), reason(round));
        }
    }

    @Test
    void findsPythonAgainWhenItComesBackElsewhere() throws Exception {
        String before;
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            before = reason(ROUND);
        }
        assertUnanswered("connection refused");
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            assertNotEquals(before, reason(ROUND));
        }
    }

    @Test
    void saysThatTheFileIsMissing() {
        assertUnanswered("there is no FILE, which `headworks serve storm` writes");
    }

    @Test
    void refusesAFileThatOthersRead() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            Files.setPosixFilePermissions(endpoint, PosixFilePermissions.fromString("rw-r-----"));
            assertUnanswered("others than its owner have rights to FILE: chmod 600 it");
        }
    }

    @Test
    void refusesAFileThatSaysSomethingElse() throws IOException {
        write("{}");
        assertUnanswered("FILE has no port and token");
        write("{\"port\":1");
        assertUnanswered("FILE cannot be read: JsonEOFException");
    }

    @Test
    void isRefusedWithAnotherToken() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            write(Files.readString(endpoint).replaceFirst("\"[0-9a-f]{64}\"", "\"" + "00".repeat(32) + "\""));
            assertUnanswered("who listens there does not know the token in FILE");
        }
    }

    @Test
    void saysWhatPythonRaised() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "fail")) {
            assertUnanswered("it raised ValueError: no such luck");
        }
    }

    @Test
    void survivesTheEndOfPythonInARound() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "die")) {
            assertUnanswered("the connection broke");
        }
        assertUnanswered("connection refused");
    }

    @Test
    void doesNotWaitForAHungPython() throws Exception {
        bridge = bridge(SHORT);
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hang")) {
            assertUnanswered("nothing within 1000 ms");
        }
    }

    @Test
    void isFreeAgainAfterAFrozenPythonThatReadsNothing() throws Exception {
        String round = ROUND.replace("{", "{\"x\":\"" + "x".repeat(20_000_000) + "\",");
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            python.freeze();
            assertUnanswered("nothing within " + PATIENT + " ms", round);
            try (PlannerProcess next = PlannerProcess.start(endpoint, "hold")) {
                assertEquals("pid " + next.process.pid(), reason(ROUND));
            }
            python.thaw();
        }
    }

    @Test
    void waitsLittleForASilentPythonUntilItAnswersAgain() throws Exception {
        bridge = bridge(LONGER);
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hold")) {
            python.freeze();
            for (int round = 1; round <= 3; round++) {
                assertTrue(millisOfSilence() >= LONGER, "round " + round);
            }
            for (int round = 4; round <= 6; round++) {
                assertTrue(millisOfSilence() < LONGER, "round " + round);
            }
            NoPlan said = assertThrows(NoPlan.class, () -> bridge.ask(ROUND));
            assertTrue(said.getMessage().contains("rounds; each waits 200 ms until it answers"), said.getMessage());
            python.thaw();
            assertEquals("pid " + python.process.pid(), reasonInTheEnd());
            python.freeze();
            assertTrue(millisOfSilence() >= LONGER, "after an answer the patience is whole");
            python.thaw();
        }
    }

    /** While each round waits so little, a busy machine takes some of them until one is answered. */
    private String reasonInTheEnd() throws InterruptedException {
        for (int round = 0; round < 1000; round++) {
            try {
                return reason(ROUND);
            } catch (NoPlan silent) {
                Thread.sleep(50);
            }
        }
        return reason(ROUND);
    }

    private long millisOfSilence() {
        long start = System.nanoTime();
        assertThrows(NoPlan.class, () -> bridge.ask(ROUND));
        return (System.nanoTime() - start) / 1_000_000 + 1;
    }

    @Test
    void isToldAtOnceThatEarlierRoundsHang() throws Exception {
        bridge = bridge(SHORT);
        try (PlannerProcess python = PlannerProcess.start(endpoint, "hang")) {
            assertUnanswered("nothing within 1000 ms");
            assertUnanswered("nothing within 1000 ms");
            assertUnanswered("it raised 2 earlier rounds are still being planned");
        }
    }

    @Test
    void refusesAnythingButText() throws Exception {
        try (PlannerProcess python = PlannerProcess.start(endpoint, "nothing")) {
            assertThrows(NoPlan.class, () -> Answer.parse(bridge.ask(ROUND)));
        }
        try (PlannerProcess python = PlannerProcess.start(endpoint, "number")) {
            assertUnanswered("it answered with no text");
        }
    }

    private void write(String text) throws IOException {
        Files.deleteIfExists(endpoint);
        Files.createFile(endpoint, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(endpoint, text);
        assertTrue(Files.exists(endpoint));
    }
}
