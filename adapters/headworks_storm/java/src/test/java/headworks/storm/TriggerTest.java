package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TriggerTest {
    private static final URI NOBODY = URI.create("http://127.0.0.1:1");

    static String[] names() {
        return new String[] {"d", "detect-3", "detect_\u00fc:7", "x".repeat(200)};
    }

    static String[] noNames() {
        return new String[] {
            "", " ", "detect/3", "detect 3", "detect\n3", "detect\u00a03", "detect\u200b3", "\ud800", "x".repeat(201)
        };
    }

    @ParameterizedTest
    @MethodSource("names")
    void takesASourceThatTheManagerTakes(String source) {
        new Trigger(NOBODY, Path.of("none"), source).close();
    }

    @ParameterizedTest
    @MethodSource("noNames")
    void refusesASourceThatTheManagerRefuses(String source) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> new Trigger(NOBODY, Path.of("none"), source));
        assertTrue(refused.getMessage().contains("1 to 200 characters without spaces and slashes"));
    }
}
