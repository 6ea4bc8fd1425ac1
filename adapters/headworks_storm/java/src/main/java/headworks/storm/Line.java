package headworks.storm;

/** Sentences of others for Nimbus's log and its answers: of what a scheduler says, a line of bounded length. */
final class Line {
    private Line() {
    }

    /** A text in one line: another one would be a line of Nimbus's log that Nimbus never wrote. */
    static String of(String text, int longest) {
        String start = text.length() <= longest ? text : text.substring(0, longest) + "...";
        return start.replaceAll("\\p{Cntrl}", " ");
    }
}
