package headgate.storm.monitor;

import java.util.Map;

/** The keys of the configuration that the monitor reads. */
final class Settings {
    static final String COLLECTOR = "headgate.collector";
    static final String TOKEN = "headgate.collector.token";
    static final String TOKEN_FILE = "headgate.collector.token.file";
    static final String SECONDS = "headgate.monitor.seconds";
    static final String SAMPLE = "headgate.monitor.sample";

    final String host;
    final int port;
    /** The token itself, or null if a file has it. */
    final String token;
    final String tokenFile;
    /** From one report to the next. */
    final long periodMs;
    /** Of how many tuples of a stream one is serialised to learn its size; 0 serialises none. */
    final long sample;

    private Settings(Map<String, Object> conf) {
        String address = conf.get(COLLECTOR).toString();
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
        return conf.get(COLLECTOR) == null ? null : new Settings(conf);
    }

    private static double number(Object value, double absent) {
        return value == null ? absent : Double.parseDouble(value.toString());
    }
}
