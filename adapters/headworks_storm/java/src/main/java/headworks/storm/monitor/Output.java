package headworks.storm.monitor;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The tuples of one stream that one task sent, by target task; see {@link Counts} on its threads. */
final class Output {
    private static final int SHIFT = 6;
    private static final int PAGE = 1 << SHIFT;
    /** So many of the last samples make up the mean size. */
    private static final int MEMORY = 64;

    final String stream;
    /** Whether its tuples are among those that the task emitted, or are Storm's own. */
    final boolean counted;
    /** Calls of emit. */
    long emitted;
    /** Tuples by target task, in pages that are made when they are needed: few targets of a large topology are. */
    private final long[][] sent;
    /** The reporter's: what the reports had so far. */
    private final long[][] told;
    private final long sample;
    private long next = 1;
    private int samples;
    private double bytes = -1;

    Output(String stream, boolean counted, int tasks, long sample) {
        this.stream = stream;
        this.counted = counted;
        this.sent = new long[(tasks + PAGE - 1) / PAGE][];
        this.told = new long[sent.length][];
        this.sample = sample;
    }

    /** Storm hands over an {@link ArrayList}, but for direct streams: to ask for the class costs less than for List. */
    void add(List<Object> values, Collection<Integer> targets, int weight, Sizes sizes) {
        emitted += weight;
        if (targets instanceof ArrayList) {
            ArrayList<Integer> list = (ArrayList<Integer>) targets;
            int size = list.size();
            for (int i = 0; i < size; i++) {
                add(list.get(i), weight);
            }
        } else {
            targets.forEach(each -> add(each, weight));
        }
        if (sample > 0 && emitted >= next) {
            next += Math.min(next, sample); // 1, 2, 4, ...: a slow stream has its size early, too
            learn(sizes.of(values));
        }
    }

    /** @param target a task, null where a direct emit had no subscriber */
    private void add(Integer target, int weight) {
        if (target != null) {
            int task = target;
            int number = task >>> SHIFT;
            if (number < sent.length) {
                long[] page = sent[number];
                if (page == null) {
                    page = new long[PAGE];
                    sent[number] = page;
                }
                page[task & (PAGE - 1)] += weight;
            }
        }
    }

    private void learn(long size) {
        if (size >= 0) {
            samples = Math.min(samples + 1, MEMORY);
            bytes = samples == 1 ? size : bytes + (size - bytes) / samples;
        }
    }

    void tell(int source, StringBuilder json) {
        double size = bytes;
        for (int i = 0; i < sent.length; i++) {
            long[] page = sent[i];
            if (page != null) {
                if (told[i] == null) {
                    told[i] = new long[PAGE];
                }
                for (int j = 0; j < PAGE; j++) {
                    long tuples = page[j] - told[i][j];
                    if (tuples > 0) {
                        told[i][j] += tuples;
                        json.append('[').append(source).append(',').append(i * PAGE + j).append(',').append(tuples);
                        json.append(',').append(size < 0 ? "null" : Long.toString(Math.round(size * tuples)));
                        json.append("],");
                    }
                }
            }
        }
    }
}
