package headworks.storm.usecase;

import java.io.Serializable;
import java.util.Map;

/** One topology of the use case: what it reads, how long a tuple takes, and where it tells of what it has done. */
final class Settings implements Serializable {
    private static final long serialVersionUID = 1L;

    final String name;
    /** Kind of topology: event, archive or feed. */
    final String kind;
    final String broker;
    final String topic;
    /** Topic of what was done with batches. */
    final String reports;
    final int tasks;
    /** Tuples of a batch (BL). */
    final int length;
    /** Tuples per second to the topic above which a feed's trigger is on. */
    final double threshold;
    /** Seconds of a node's core for each tuple (S). */
    final double service;
    /** Folder of this topology's files. */
    final String folder;
    /** Folder of the cores of nodes. */
    final String cores;
    /** Address of the priority manager, and the file with its token. */
    final String manager;
    final String token;

    Settings(Map<String, Object> described) {
        name = (String) described.get("name");
        kind = (String) described.get("kind");
        broker = (String) described.get("broker");
        topic = (String) described.get("topic");
        reports = (String) described.get("reports");
        tasks = ((Number) described.get("tasks")).intValue();
        length = ((Number) described.get("length")).intValue();
        threshold = ((Number) described.get("threshold")).doubleValue();
        service = ((Number) described.get("service")).doubleValue();
        folder = (String) described.get("folder");
        cores = (String) described.get("cores");
        manager = (String) described.get("manager");
        token = (String) described.get("token");
    }
}
