package headworks.storm.seats;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.storm.utils.ObjectReader;

/** What the configuration of a topology asks for: which components have seats, and what their state is. */
final class Requested {
    /** A map, or a text such as {@code split=stateless; count=fields:counts}. */
    static final String MOVABLE = "headworks.seats.movable";
    /** How many times its even share of the tasks of a component a worker may hold; its heap is for as many. */
    static final String FIT = "headworks.seats.fit";
    /** Seats of a topology at most. */
    static final String MOST = "headworks.seats.max";

    private static final double USUAL_FIT = 2;
    private static final int USUAL_MOST = 2048;

    /** State by component. */
    final Map<String, String> movable = new LinkedHashMap<>();
    final double fit;
    final int most;

    private Requested(double fit, int most) {
        this.fit = fit;
        this.most = most;
    }

    /** What a configuration asks for; nothing if it does not name the key. */
    static Requested of(Map<String, Object> conf) {
        double fit = ObjectReader.getDouble(conf.get(FIT), USUAL_FIT);
        Requested requested = new Requested(fit, ObjectReader.getInt(conf.get(MOST), USUAL_MOST));
        Object named = conf.get(MOVABLE);
        if (named instanceof Map) {
            ((Map<?, ?>) named).forEach((id, state) -> requested.add(id.toString(), String.valueOf(state)));
        } else if (named != null) {
            for (String each : named.toString().split(";")) {
                int sign = each.indexOf('=');
                if (!each.isBlank()) {
                    requested.add(each.substring(0, Math.max(sign, 0)).trim(), each.substring(sign + 1).trim());
                }
            }
        }
        return requested;
    }

    private void add(String id, String state) {
        boolean known = state.equals("stateless") || state.equals("movable")
            || state.matches("fields:\\s*\\w+(\\s*,\\s*\\w+)*");
        if (id.isEmpty() || !known) {
            throw new Refusal(id + "=" + state + " is no state of a component: write COMPONENT=stateless, "
                + "COMPONENT=movable if its class implements headworks.storm.seats.Movable, or COMPONENT=fields:A,B");
        }
        movable.put(id, state.replaceAll("\\s", ""));
    }
}
