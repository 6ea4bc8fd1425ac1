package headworks.storm;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Scanner;

/** Sends a trigger for each line "TOPOLOGY on|off WHY", and says after each what came of it: "sent" or "waits". */
public final class TriggerProgram {
    private TriggerProgram() {
    }

    /** Arguments: the manager's address, the file of the token, the source, and seconds to wait for an answer. */
    public static void main(String[] arguments) throws InterruptedException {
        Duration patience = Duration.ofSeconds(Long.parseLong(arguments[3]));
        Scanner lines = new Scanner(System.in);
        try (Trigger trigger = new Trigger(URI.create(arguments[0]), Path.of(arguments[1]), arguments[2])) {
            while (lines.hasNextLine()) {
                String[] words = lines.nextLine().split(" ", 3);
                trigger.send(words[0], words[1].equals("on"), words[2]);
                System.out.println(trigger.flush(patience) ? "sent" : "waits");
            }
        }
    }
}
