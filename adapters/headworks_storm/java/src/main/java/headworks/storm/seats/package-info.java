/**
 * Seats: tasks of a topology that can move while their workers run, on Storm as released.
 *
 * <p>{@link headworks.storm.seats.Transform} rewrites a topology on its way to Nimbus: each task of a movable bolt gets a
 * physical task, its seat, in each worker, and lives in one of them. Every component is wrapped ({@code SeatBolt},
 * {@code PinnedBolt}, {@code SeatSpout}) and sees the ids and tasks that it would see without seats ({@code SeatContext},
 * {@code SeatTuple}, {@code SeatCollector}); {@code SeatGrouping} chooses as Storm would, among the seats in which tasks live.
 *
 * <p>{@link headworks.storm.seats.Handover} is what a seat does so that no tuple is lost, doubled or overtaken as a task goes
 * from one seat to another: a state machine without I/O, which a test runs through random interleavings. {@code
 * SeatHandover} runs it in a seat, and {@code PinnedOrder} in a bolt that does not move. An emitter learns of moves in {@link
 * headworks.storm.seats.Emission}, and marks the path that it leaves.
 *
 * <p>{@link headworks.storm.seats.Agent} is started in each worker before its components are made. It follows the {@code
 * Ledger}, in which a client orders moves and workers enter owners. {@code Snapshots} takes the state of a bolt and gives it
 * to the next one: named fields, or what a {@link headworks.storm.seats.Movable} says.
 *
 * <p>Whoever dies: the ledger says of each task who owns it, who may still have its state, and which life of a worker took it
 * ({@code Entry}). {@code Step} decides what is next for a seat, from that and from what the seat is; a test runs it with {@code
 * Handover} while workers die at each step, orders race and pages of the ledger are lost. A state is lost with the only worker
 * that had it, and the ledger tells of it. A page that is gone is written again by the workers that know it, and by that one
 * ({@code LedgerPage.again}), or one that may stand for it ({@code late}), no task begins that another worker may have.
 */
package headworks.storm.seats;
