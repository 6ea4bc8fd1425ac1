package headworks.storm.seats;

import java.util.Arrays;
import java.util.List;

/** The physical tasks upstream of a component, numbered, with the logical task that each is a seat of; never changed. */
final class Sources {
    private static final int UNKNOWN = -1;

    private final int[] tasks;
    private final int[] logical;
    private final int logicals;
    private final int first;
    private final int[] numbers;

    /** @param seats physical tasks of each logical task; a task that never moves is the only seat of its own */
    Sources(List<int[]> seats) {
        logicals = seats.size();
        tasks = seats.stream().flatMapToInt(Arrays::stream).toArray();
        logical = new int[tasks.length];
        first = Arrays.stream(tasks).min().orElse(0);
        numbers = new int[Arrays.stream(tasks).max().orElse(-1) - first + 1];
        Arrays.fill(numbers, UNKNOWN);
        int number = 0;
        for (int j = 0; j < logicals; j++) {
            for (int task : seats.get(j)) {
                logical[number] = j;
                numbers[task - first] = number++;
            }
        }
    }

    /** Number of physical tasks. */
    int size() {
        return tasks.length;
    }

    /** Number of logical tasks. */
    int logicals() {
        return logicals;
    }

    /** The number of a physical task, from 0. */
    int number(int task) {
        int place = task - first;
        int number = place < 0 || place >= numbers.length ? UNKNOWN : numbers[place];
        if (number == UNKNOWN) {
            throw new IllegalArgumentException("task " + task + " is not upstream");
        }
        return number;
    }

    /** The physical task of a number. */
    int task(int number) {
        return tasks[number];
    }

    /** The logical task that a physical task is a seat of, as its index in what this was made of. */
    int logical(int task) {
        return logical[number(task)];
    }
}
