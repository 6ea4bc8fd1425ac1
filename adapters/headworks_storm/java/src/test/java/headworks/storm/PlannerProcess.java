package headworks.storm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** A real Python process that answers rounds: `planner.py` among the test resources. */
final class PlannerProcess implements AutoCloseable {
    final Process process;

    private PlannerProcess(Process process) {
        this.process = process;
    }

    /** Start one and wait until it has written its endpoint file. */
    static PlannerProcess start(Path endpoint, String... behaviour) throws IOException {
        List<String> command = new ArrayList<>(List.of(System.getProperty("headworks.python", "python3"),
            resource("/planner.py").toString(), endpoint.toString()));
        command.addAll(List.of(behaviour));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        BufferedReader out = new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        if (!"ready".equals(out.readLine())) {
            process.destroyForcibly();
            throw new IOException(String.join(" ", command) + " does not start: does this Python have Headworks?");
        }
        return new PlannerProcess(process);
    }

    /** Stop it where it is, as a debugger or a long garbage collection would. */
    void freeze() throws IOException, InterruptedException {
        signal("-STOP");
    }

    void thaw() throws IOException, InterruptedException {
        signal("-CONT");
    }

    private void signal(String signal) throws IOException, InterruptedException {
        new ProcessBuilder("kill", signal, "" + process.pid()).start().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }

    private static Path resource(String name) {
        try {
            return Paths.get(PlannerProcess.class.getResource(name).toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
