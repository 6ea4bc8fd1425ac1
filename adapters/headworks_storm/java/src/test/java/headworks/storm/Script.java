package headworks.storm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.storm.metric.StormMetricsRegistry;

/** A planner that answers with what a test writes, and keeps what it was asked. */
final class Script implements Planner {
    final List<JsonNode> rounds = new ArrayList<>();
    private final Function<JsonNode, String> answer;

    private Script(Function<JsonNode, String> answer) {
        this.answer = answer;
    }

    @Override
    public String answer(String round) {
        JsonNode json = read(round);
        rounds.add(json);
        return answer.apply(json);
    }

    /** Answer with a text that has nothing to do with the round. */
    static Script raw(String text) {
        return new Script(round -> text);
    }

    /** Answer with a right envelope of this mode, and more members, as JSON without its braces. */
    static Script mode(String mode, String more) {
        return edited(mode, more, answer -> { });
    }

    /** The same, and then something is done to the envelope. */
    static Script edited(String mode, String more, Consumer<ObjectNode> edit) {
        return new Script(round -> {
            String text = String.format("{\"v\":1,\"nimbus\":%s,\"round\":%s,\"mode\":\"%s\"%s}", round.get("nimbus"),
                round.get("round"), mode, more.isEmpty() ? "" : "," + more.replace('\'', '"'));
            ObjectNode answer = (ObjectNode) read(text);
            edit.accept(answer);
            return answer.toString();
        });
    }

    /** Assign one topology: its workers as JSON with single quotes. */
    static Script assign(String topology, String workers) {
        return mode("assign", "'topologies':{'" + topology + "':" + workers + "}");
    }

    /** The same, which answers nothing while it is gone. */
    Planner unless(AtomicBoolean gone) {
        return round -> {
            if (gone.get()) {
                throw NoPlan.unanswered("connection refused");
            }
            return answer(round);
        };
    }

    static JsonNode read(String text) {
        try {
            return Json.MAPPER.readTree(text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A scheduler that asks a planner. */
    static HeadworksScheduler scheduler(Planner planner, Object... conf) {
        HeadworksScheduler scheduler = new HeadworksScheduler(settings -> planner);
        Map<String, Object> all = Clusters.conf();
        for (int i = 0; i < conf.length; i += 2) {
            all.put((String) conf[i], conf[i + 1]);
        }
        scheduler.prepare(all, new StormMetricsRegistry());
        return scheduler;
    }
}
