package headworks.spark;

import java.nio.ByteBuffer;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleStatus;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.MapStatus;
import scala.collection.Iterator;

/** What the driver's map output tracker knows of a shuffle, in one call. */
public final class ShuffleSizes {
    /**
     * Reads the shuffle that a map task wrote for.
     *
     * @param mapId id of a successful map task attempt
     * @param reduces number of reduce partitions
     * @return big-endian longs, a row for each map output: map id, then bytes of each reduce partition;
     *     nothing if the shuffle is not known any more
     */
    public byte[] read(long mapId, int reduces) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        Iterator shuffles = tracker.shuffleStatuses().valuesIterator();
        while (shuffles.hasNext()) {
            MapStatus[] outputs = ((ShuffleStatus) shuffles.next()).mapStatuses();
            for (int i = 0; i < outputs.length; i++) {
                if (outputs[i] != null && outputs[i].mapId() == mapId) {
                    return rows(outputs, reduces);
                }
            }
        }
        return new byte[0];
    }

    private static byte[] rows(MapStatus[] outputs, int reduces) {
        ByteBuffer buffer = ByteBuffer.allocate(outputs.length * (reduces + 1) * 8);
        for (int i = 0; i < outputs.length; i++) {
            MapStatus output = outputs[i];
            buffer.putLong(output == null ? -1 : output.mapId());
            for (int reduce = 0; reduce < reduces; reduce++) {
                buffer.putLong(output == null ? 0 : output.getSizeForBlock(reduce));
            }
        }
        return buffer.array();
    }
}
