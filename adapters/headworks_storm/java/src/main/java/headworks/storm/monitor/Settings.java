package headworks.storm.monitor;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The keys of the configuration that the monitor reads. */
final class Settings {
    static final String COLLECTOR = "headworks.collector";
    static final String TOKEN = "headworks.collector.token";
    static final String TOKEN_FILE = "headworks.collector.token.file";
    static final String SECONDS = "headworks.monitor.seconds";
    static final String SAMPLE = "headworks.monitor.sample";

    /** Collectors that are told, one for each Nimbus: each costs a worker a connection and a thread. */
    static final int MOST = 8;

    /** The collector; of several the first, see {@link #each}. */
    final String host;
    final int port;
    /** The token itself, or null if a file has it. */
    final String token;
    final String tokenFile;
    /** From one report to the next. */
    final long periodMs;
    /** Of how many tuples of a stream one is serialised to learn its size; 0 serialises none. */
    final long sample;
    private final List<Settings> each = new ArrayList<>();

    private Settings(Map<String, Object> conf, String address) {
        int colon = address.lastIndexOf(':');
        host = address.substring(0, colon);
        port = Integer.parseInt(address.substring(colon + 1));
        token = (String) conf.get(TOKEN);
        tokenFile = (String) conf.get(TOKEN_FILE);
        periodMs = (long) (1000 * Math.min(10, Math.max(1, number(conf.get(SECONDS), 5))));
        sample = (long) Math.max(0, number(conf.get(SAMPLE), 1024));
    }

    /** The settings, or null if no collector is named: then nothing is watched. */
    static Settings of(Map<String, Object> conf) {
        List<Settings> each = new ArrayList<>();
        addresses(conf.get(COLLECTOR)).forEach(address -> each.add(new Settings(conf, address)));
        if (each.isEmpty()) {
            return null;
        }
        each.get(0).each.addAll(each);
        return each.get(0);
    }

    /** The same settings for each collector that is named. */
    List<Settings> each() {
        return each;
    }

    /** A list, or one text with commas. */
    private static Collection<String> addresses(Object named) {
        Set<String> addresses = new LinkedHashSet<>();
        Collection<?> texts = named instanceof Collection ? (Collection<?>) named
            : Arrays.asList(named == null ? new String[0] : named.toString().split(","));
        for (Object text : texts) {
            String address = String.valueOf(text).trim();
            if (!address.isEmpty() && addresses.size() < MOST) {
                addresses.add(address);
            }
        }
        return addresses;
    }

    private static double number(Object value, double absent) {
        return value == null ? absent : Double.parseDouble(value.toString());
    }
}
