package headworks.storm.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Where components count for themselves, no object is made for a hook of Headworks's; hooks of others stay. */
class WorkerTalliesTest {
    private static final String HOOKS = "topology.auto.task.hooks";

    @Test
    void takesOutHeadworkssHookAlone() {
        Map<String, Object> conf = new HashMap<>(Map.of(HOOKS, List.of("a.Hook", TaskHook.class.getName(), "b.Hook")));
        WorkerTallies.unhook(conf);
        assertEquals(List.of("a.Hook", "b.Hook"), conf.get(HOOKS));
    }

    @Test
    void namesNoHooksWhereNoneWereNamed() {
        Map<String, Object> conf = new HashMap<>();
        WorkerTallies.unhook(conf);
        assertFalse(conf.containsKey(HOOKS));
    }
}
