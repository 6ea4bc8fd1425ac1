package headworks.storm;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Whose the listener on a port of the loopback interface is, by Linux's tables of sockets.
 *
 * Another user's is not spoken to. Where there are no such tables, the proof of the token is all there is.
 */
final class ListenerOwner {
    private static final Path PROC = Paths.get("/proc");
    private static final String LISTENING = "0A";
    private static final String ANY_IPV4 = "00000000";
    private static final String ANY_IPV6 = "00000000000000000000000000000000";
    /** 127.0.0.1, in the byte order of either kind of machine, and as an address of IPv6. */
    private static final String LOOPBACK = "0100007F|7F000001|0000000000000000FFFF00000100007F|"
        + "00000000000000000000FFFF7F000001";

    private ListenerOwner() {
    }

    /** @throws NoPlan a process of another user listens there */
    static void check(int port) {
        try {
            Integer ours = (Integer) Files.getAttribute(PROC.resolve("self"), "unix:uid");
            for (String table : new String[] {"tcp", "tcp6"}) {
                check(PROC.resolve("self/net").resolve(table), port, ours);
            }
        } catch (IOException | RuntimeException e) {
            if (e instanceof NoPlan) {
                throw (NoPlan) e;
            }
        }
    }

    static void check(Path table, int port, int ours) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(table)) {
            lines.readLine();
            String line;
            while ((line = lines.readLine()) != null) {
                String[] words = line.trim().split("\\s+");
                if (!words[3].equals(LISTENING)) {
                    return; // listening sockets come first, and a busy machine has very many others
                }
                int colon = words[1].lastIndexOf(':');
                String address = words[1].substring(0, colon);
                if (Integer.parseInt(words[1].substring(colon + 1), 16) == port && reached(address)
                        && Integer.parseInt(words[7]) != ours) {
                    throw NoPlan.unanswered("user " + words[7] + " listens on port " + port + ", not that of Nimbus, "
                        + ours);
                }
            }
        }
    }

    private static boolean reached(String address) {
        return address.equals(ANY_IPV4) || address.equals(ANY_IPV6) || address.matches(LOOPBACK);
    }
}
