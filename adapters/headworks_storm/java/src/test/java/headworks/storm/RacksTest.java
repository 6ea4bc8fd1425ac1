package headworks.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.networktopography.DNSToSwitchMapping;
import org.apache.storm.utils.ReflectionUtils;
import org.junit.jupiter.api.Test;

class RacksTest {
    private static final String DEFAULT = DNSToSwitchMapping.DEFAULT_RACK;

    private static Map<String, String> resolved(Object said) {
        Map<String, Object> conf = new HashMap<>();
        conf.put(Racks.RACKS, said);
        return new Racks(conf).resolve(List.of("h0", "h1"));
    }

    @Test
    void hostsHaveTheRackThatIsSaidElseTheDefault() {
        assertEquals(Map.of("h0", "r0", "h1", DEFAULT), resolved(Map.of("h0", "r0", "h7", "r7")));
        assertEquals(Map.of("h0", "0", "h1", DEFAULT), resolved(Map.of("h0", 0)));
    }

    @Test
    void whatIsNoMapCountsAsNotSaid() {
        assertEquals(Map.of("h0", DEFAULT, "h1", DEFAULT), resolved(null));
        assertEquals(Map.of("h0", DEFAULT, "h1", DEFAULT), resolved(List.of("h0")));
    }

    @Test
    void stormMakesOneByItsName() {
        Map<String, Object> conf = Map.of(Config.STORM_NETWORK_TOPOGRAPHY_PLUGIN, Racks.class.getName());
        DNSToSwitchMapping made = ReflectionUtils.newInstance(
            (String) conf.get(Config.STORM_NETWORK_TOPOGRAPHY_PLUGIN));
        assertEquals(Map.of("h0", DEFAULT), made.resolve(List.of("h0")));
    }
}
