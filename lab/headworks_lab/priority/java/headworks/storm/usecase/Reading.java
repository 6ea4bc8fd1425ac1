package headworks.storm.usecase;

/** A line that a gateway sent: {@code date-time,source,reading,other}, where other is the batch and a number in it. */
final class Reading {
    final String source;
    final double value;
    final String batch;
    final int number;

    private Reading(String source, double value, String batch, int number) {
        this.source = source;
        this.value = value;
        this.batch = batch;
        this.number = number;
    }

    static Reading parse(String line) {
        String[] fields = line.split(",", 4);
        int hash = fields[3].lastIndexOf('#');
        return new Reading(fields[1], Double.parseDouble(fields[2]), fields[3].substring(0, hash),
            Integer.parseInt(fields[3].substring(hash + 1)));
    }
}
