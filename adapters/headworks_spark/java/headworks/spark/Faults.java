package headworks.spark;

import java.util.LinkedHashSet;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What went wrong in Headworks's part of the driver, a sentence each; Spark goes on without that part. */
public final class Faults {
    /** Sentences that are kept: if more, the same one may be logged again, and fewer are told. */
    private static final int MOST = 100;
    private static final Logger LOG = LoggerFactory.getLogger(Faults.class);
    private static final Set<String> SAID = new LinkedHashSet<String>();

    private Faults() {
    }

    /** Keep a sentence, and log it once. */
    static synchronized void say(String sentence, Throwable error) {
        if (SAID.size() < MOST && SAID.add(sentence)) {
            LOG.warn("Headworks: " + sentence, error);
        }
    }

    /** The sentences, a line each. */
    public static synchronized String read() {
        StringBuilder lines = new StringBuilder();
        Object[] all = SAID.toArray();
        for (int i = 0; i < all.length; i++) {
            lines.append(((String) all[i]).replace('\n', ' ')).append('\n');
        }
        return lines.toString();
    }
}
