package headworks.storm;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;

/** Where the Python process listens, and the token that it wants: the content of a file for its owner only. */
final class Endpoint {
    private static final Set<PosixFilePermission> OWNER = EnumSet.of(
        PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

    final int port;
    final String token;

    private Endpoint(int port, String token) {
        this.port = port;
        this.token = token;
    }

    /**
     * Read the file, anew for each round, so that Python may come back on another port.
     *
     * @throws NoPlan there is none, others can read it, or it says something else
     */
    static Endpoint read(Path file) {
        if (file == null) {
            throw NoPlan.unanswered(Settings.ENDPOINT + " is not set in storm.yaml");
        }
        try {
            if (!OWNER.containsAll(permissions(file))) {
                throw NoPlan.unanswered("others than its owner have rights to " + file + ": chmod 600 it");
            }
            JsonNode content = Json.MAPPER.readTree(Files.readAllBytes(file));
            int port = content.path("port").asInt();
            String token = content.path("token").asText();
            if (port < 1 || port > 65535 || token.isEmpty()) {
                throw NoPlan.unanswered(file + " has no port and token");
            }
            return new Endpoint(port, token);
        } catch (NoSuchFileException e) {
            throw NoPlan.unanswered("there is no " + file + ", which `headworks serve storm` writes");
        } catch (IOException e) {
            throw NoPlan.unanswered(file + " cannot be read: " + e.getClass().getSimpleName());
        }
    }

    private static Set<PosixFilePermission> permissions(Path file) throws IOException {
        try {
            return Files.getPosixFilePermissions(file);
        } catch (UnsupportedOperationException e) {
            return OWNER;
        }
    }
}
