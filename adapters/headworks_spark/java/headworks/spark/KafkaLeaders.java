package headworks.spark;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/**
 * Leaders of the Kafka partitions that a scan reads, asked with the settings and the client that the query has.
 *
 * Both are there only where a query reads Kafka, so that all of their methods are looked up by name.
 */
public final class KafkaLeaders {
    private static final String STREAM = "KafkaMicroBatchStream";
    private static final String ADMIN = "org.apache.kafka.clients.admin.";
    /** Milliseconds that a broker may take to answer, in which a round waits. */
    private static final String PATIENCE = "5000";

    /**
     * Asks for the leader of what each task of a scan reads.
     *
     * @param scan an operator of Spark's that has planned its partitions
     * @return host, rack (or null) and bytes of a row (0 if unknown) of each, null where there is no leader now; nothing
     *     of a scan of something else
     */
    public List<Object> read(Object scan) throws Exception {
        List<Object> parts = new ArrayList<Object>();
        if (get(scan, "stream").getClass().getName().endsWith(STREAM)) {
            scala.collection.Iterator<?> all = ((scala.collection.Iterable<?>) get(scan, "inputPartitions")).iterator();
            while (all.hasNext()) {
                parts.add(all.next());
            }
        }
        return parts.isEmpty() ? parts : leaders(parts);
    }

    private static List<Object> leaders(List<Object> parts) throws Exception {
        List<Object> topics = new ArrayList<Object>();
        for (int i = 0; i < parts.size(); i++) {
            topics.add(get(get(parts.get(i), "offsetRange"), "topicPartition"));
        }
        ClassLoader loader = parts.get(0).getClass().getClassLoader();
        Object admin = admin(loader, (Map<?, ?>) get(parts.get(0), "executorKafkaParams"));
        try {
            List<Object> nodes = nodes(admin, topics);
            double[] rows = rows(admin, loader, topics, nodes);
            List<Object> found = new ArrayList<Object>();
            for (int i = 0; i < rows.length; i++) {
                Object node = nodes.get(i);
                found.add(node == null ? null
                    : new Object[] {get(node, "host"), get(node, "rack"), Double.valueOf(rows[i])});
            }
            return found;
        } finally {
            ((AutoCloseable) admin).close();
        }
    }

    /** A client with those settings of a consumer that it has too. */
    private static Object admin(ClassLoader loader, Map<?, ?> consumer) throws Exception {
        Map<Object, Object> known = new HashMap<Object, Object>(consumer);
        known.keySet().retainAll((Collection<?>) make(loader, "AdminClientConfig", "configNames", null, null));
        known.put("default.api.timeout.ms", PATIENCE);
        known.put("request.timeout.ms", PATIENCE);
        return make(loader, "AdminClient", "create", Map.class, known);
    }

    /** The leader of each partition, null where there is none. */
    private static List<Object> nodes(Object admin, List<Object> topics) throws Exception {
        Set<Object> names = new HashSet<Object>();
        for (int i = 0; i < topics.size(); i++) {
            names.add(get(topics.get(i), "topic"));
        }
        Map<?, ?> told = answer(call(admin, "describeTopics", Collection.class, names), "allTopicNames");
        List<Object> found = new ArrayList<Object>();
        for (int i = 0; i < topics.size(); i++) {
            found.add(leader(told.get(get(topics.get(i), "topic")), get(topics.get(i), "partition")));
        }
        return found;
    }

    private static Object leader(Object topic, Object partition) throws Exception {
        Iterator<?> all = ((List<?>) get(topic, "partitions")).iterator();
        while (all.hasNext()) {
            Object each = all.next();
            if (get(each, "partition").equals(partition)) {
                return get(each, "leader");
            }
        }
        return null;
    }

    /** Bytes of a row of each partition, compressed as it is sent; 0 where a broker does not tell. */
    private static double[] rows(Object admin, ClassLoader loader, List<Object> topics, List<Object> nodes)
        throws Exception {
        double[] found = new double[topics.size()];
        Set<Object> ids = new HashSet<Object>();
        for (int i = 0; i < found.length; i++) {
            if (nodes.get(i) != null) {
                ids.add(get(nodes.get(i), "id"));
            }
        }
        try {
            Map<?, ?> folders = answer(call(admin, "describeLogDirs", Collection.class, ids), "allDescriptions");
            Map<?, ?> first = offsets(admin, loader, topics, "earliest");
            Map<?, ?> last = offsets(admin, loader, topics, "latest");
            for (int i = 0; i < found.length; i++) {
                Object topic = topics.get(i);
                long count = offset(last.get(topic)) - offset(first.get(topic));
                found[i] = nodes.get(i) == null ? 0.0
                    : size((Map<?, ?>) folders.get(get(nodes.get(i), "id")), topic) / Math.max(count, 1.0);
            }
            return found;
        } catch (Exception refused) {
            return new double[topics.size()]; // it may not be allowed to ask
        }
    }

    private static Map<?, ?> offsets(Object admin, ClassLoader loader, List<Object> topics, String which)
        throws Exception {
        Map<Object, Object> wanted = new HashMap<Object, Object>();
        for (int i = 0; i < topics.size(); i++) {
            wanted.put(topics.get(i), make(loader, "OffsetSpec", which, null, null));
        }
        return answer(call(admin, "listOffsets", Map.class, wanted), "all");
    }

    private static long offset(Object told) throws Exception {
        return ((Long) get(told, "offset")).longValue();
    }

    /** Bytes of a partition in the folders of a broker. */
    private static double size(Map<?, ?> folders, Object topic) throws Exception {
        double found = 0.0;
        Iterator<?> all = folders.values().iterator();
        while (all.hasNext()) {
            Object replica = ((Map<?, ?>) get(all.next(), "replicaInfos")).get(topic);
            found += replica == null ? 0.0 : ((Long) get(replica, "size")).doubleValue();
        }
        return found;
    }

    private static Map<?, ?> answer(Object result, String name) throws Exception {
        try {
            return (Map<?, ?>) ((Future<?>) get(result, name)).get();
        } catch (ExecutionException error) {
            throw (Exception) error.getCause(); // what Kafka says
        }
    }

    private static Object get(Object object, String name) throws Exception {
        return call(object, name, null, null);
    }

    private static Object call(Object object, String name, Class<?> kind, Object word) throws Exception {
        return invoke(object.getClass(), object, name, kind, word);
    }

    /** Call a static method of a class of Kafka's client. */
    private static Object make(ClassLoader loader, String name, String method, Class<?> kind, Object word)
        throws Exception {
        return invoke(Class.forName(ADMIN + name, true, loader), null, method, kind, word);
    }

    private static Object invoke(Class<?> of, Object object, String name, Class<?> kind, Object word)
        throws Exception {
        Method method = of.getMethod(name, kind == null ? new Class<?>[0] : new Class<?>[] {kind});
        method.setAccessible(true);
        try {
            return method.invoke(object, kind == null ? new Object[0] : new Object[] {word});
        } catch (InvocationTargetException error) {
            throw error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
        }
    }
}
