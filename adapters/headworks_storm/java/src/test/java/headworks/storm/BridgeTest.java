package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class BridgeTest {
    private static void forever() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void waitsNoLongerThanItMay() {
        try (Bridge bridge = new Bridge(round -> {
            forever();
            return "late";
        }, 50)) {
            NoPlan why = assertThrows(NoPlan.class, () -> bridge.ask("1"));
            assertEquals("Headworks does not answer (nothing within 50 ms)", why.getMessage());
        }
    }

    @Test
    void dropsALateAnswerAndInterruptsItsCall() throws InterruptedException {
        CountDownLatch interrupted = new CountDownLatch(1);
        try (Bridge bridge = new Bridge(round -> {
            if (round.equals("1")) {
                forever();
                interrupted.countDown();
            }
            return "answer to " + round;
        }, 3000)) {
            assertThrows(NoPlan.class, () -> bridge.ask("1"));
            assertEquals("answer to 2", bridge.ask("2"));
            assertTrue(interrupted.await(300, TimeUnit.SECONDS));
        }
    }

    @Test
    void asksOnOneThreadThatDoesNotKeepTheProcessAlive() throws InterruptedException {
        AtomicReference<Thread> first = new AtomicReference<>();
        try (Bridge bridge = new Bridge(round -> {
            first.compareAndSet(null, Thread.currentThread());
            return "" + (first.get() == Thread.currentThread() && Thread.currentThread().isDaemon());
        }, 20_000)) {
            assertEquals("true", bridge.ask("1"));
            assertEquals("true", bridge.ask("2"));
        }
    }

    @Test
    void turnsExceptionsAndErrorsIntoReasons() {
        for (Throwable cause : new Throwable[] {
            new IllegalStateException("broken"), new StackOverflowError(), new NoClassDefFoundError("py4j/ClientServer"),
            new OutOfMemoryError("x".repeat(100_000))}) {
            try (Bridge bridge = new Bridge(round -> thrown(cause), 20_000)) {
                NoPlan why = assertThrows(NoPlan.class, () -> bridge.ask("1"));
                assertTrue(why.getMessage().startsWith(
                    "Headworks's bridge failed (" + cause.getClass().getSimpleName() + ": "), why.getMessage());
                assertTrue(why.getMessage().length() < 400);
                assertEquals(null, why.getCause());
            }
        }
    }

    @Test
    void canBeInterrupted() throws InterruptedException {
        AtomicBoolean thrown = new AtomicBoolean();
        try (Bridge bridge = new Bridge(round -> {
            forever();
            return "";
        }, 20_000)) {
            Thread asking = new Thread(() -> {
                try {
                    bridge.ask("1");
                } catch (InterruptedException e) {
                    thrown.set(true);
                }
            });
            asking.start();
            asking.interrupt();
            asking.join(300_000);
            assertFalse(asking.isAlive());
            assertTrue(thrown.get());
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> String thrown(Throwable cause) throws E {
        throw (E) cause;
    }
}
