package headworks.storm.workload;

import java.util.List;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Nexmark's query 7, its second half: of each window, the highest bids of all, when all tasks told theirs. */
public final class HighestBidBolt extends HottestBolt {
    private static final long serialVersionUID = 1L;

    @Override
    Values answer(long start, Object first, long highest) {
        return new Values(((List<?>) first).toArray());
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("auction", "bidder", "price", "time"));
    }
}
