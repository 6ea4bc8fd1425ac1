"""Preferred locations, without a jar, of a streaming query's stateful stages: the state-store coordinator has them.

A state task runs where the state-store coordinator says that the partition was last. Every task reports itself there
when it runs, so what ran elsewhere is told again after each batch. The wish is a preferred location: it can be missed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError
from headworks.model import FrozenMap
from headworks_spark.driver.gateway import running_gateway, state_coordinator, stream_execution
from headworks_spark.driver.session import SOFT, located
from headworks_spark.placement.operators import Operator, by_stage, read_plan
from headworks_spark.placement.table import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@attrs.frozen
class _Told:
    """The table of one run of a query, and who pushed it."""

    run: str
    hosts: Mapping[Place, str]
    holder: str = ""
    at: float = attrs.field(factory=time.time)


def choose_executors(
    hosts: Mapping[Place, str], alive: Mapping[str, str], ran: Mapping[Place, str]
) -> dict[Place, str]:
    """An executor on the asked host for each place: the one that has the state already, each its share of the host.

    Args:
        hosts: Host of each (stage ordinal, partition); one without an executor is passed over.
        alive: Host of each live executor.
        ran: Executor on which each place ran last.
    """
    there: dict[str, list[str]] = {}
    for executor, host in sorted(alive.items()):
        there.setdefault(host, []).append(executor)
    chosen: dict[Place, str] = {}
    for host, own in sorted(there.items()):
        places = sorted(place for place, asked in hosts.items() if asked == host)
        for stage in {stage for stage, _ in places}:
            # Stages run one after the other, so that each is spread by itself.
            chosen |= _spread([place for place in places if place[0] == stage], own, ran)
    return chosen


def _spread(places: Sequence[Place], executors: Sequence[str], ran: Mapping[Place, str]) -> dict[Place, str]:
    """Places over executors of one host, at most one more on one than on another; state stays where that allows it."""
    room = -(-len(places) // len(executors))
    chosen: dict[Place, str] = {}
    number = dict.fromkeys(executors, 0)
    for place in sorted(places, key=lambda place: (ran.get(place) not in number, place)):
        before = ran.get(place, "")
        stays = before in number and number[before] < room
        chosen[place] = before if stays else min(executors, key=lambda each: number[each])
        number[chosen[place]] += 1
    return chosen


class StatePlacement:
    """The host of each partition of the stateful stages, by query id: the state of every operator of a stage moves."""

    level = SOFT

    def __init__(self, spark: SparkSession, ran: Callable[[str, int], Mapping[Place, str]] | None = None) -> None:
        """Listen to the queries of a classic session; `close` ends that.

        Args:
            ran: The executor on which each place of a query ran in a batch; nothing where that is not known. A place
                that was hit is not told again: its task told itself.
        """
        # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
        from pyspark.sql.streaming import StreamingQueryListener

        self._spark = spark
        self._ran = ran or (lambda _scope, _batch: {})
        self._tables: dict[str, _Told] = {}
        self._cleared: dict[str, float] = {}
        self._lock = threading.Lock()
        self.failures: list[str] = []
        """Reasons why a table could not be told, latest last, at most 100."""
        self.told = 0
        """Stores that Spark was told of: a call each."""
        placement = self

        class Again(StreamingQueryListener):  # type: ignore[misc]  # PySpark's types are not read
            """Tell the table after every batch."""

            def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """Nothing is known of its state yet."""

            def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """A batch ended, and its tasks have reported where they ran."""
                placement._tell(str(event.progress.id), event.progress.batchId)

            def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """No batch, no report."""

            def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """Forget the query, unless it was started again and placed meanwhile."""
                placement._end(str(event.id), str(event.runId))

        self._listener = Again()
        spark.streams.addListener(self._listener)

    def close(self) -> None:
        """Leave all queries to Spark."""
        self._tables = {}
        self._spark.streams.removeListener(self._listener)

    def push(self, scope: str, hosts: Mapping[Place, str], signatures: Mapping[int, str] = FrozenMap()) -> None:  # noqa: ARG002 - see `Placement`
        """Replace the table of a query; it is asked for from the next batch on.

        A batch that Spark planned before the one before it was told again runs where that one ran.

        Args:
            scope: Id of the streaming query.
            hosts: Host of each (stage ordinal, partition); partitions that are not in it are left to Spark.
            signatures: Not read: the plan of the query says which stages keep state.

        Raises:
            EngineError: There is no such query, or it keeps no state.
        """
        query = self._query(scope)
        if query is None:
            raise EngineError(
                f"no active streaming query has the id {scope!r}, and level soft places nothing else from outside: "
                "see headworks_spark.placement.soft for what a program hands to Spark itself"
            )
        with self._lock:
            self._tables = {**self._tables, scope: _Told(str(query.runId), dict(hosts))}
        self._assert(scope, {})

    def hold(self, scope: str) -> None:
        """Leave the tasks of a query to Spark: preferred locations keep no task from starting."""
        self.clear(scope)

    def held(self, scope: str) -> bool:  # noqa: ARG002 - see `Placement`
        """False: nothing waits here."""
        return False

    def read(self, scope: str) -> dict[Place, str]:
        """The table of a query, empty if it has none."""
        told = self._tables.get(scope)
        return dict(told.hosts) if told else {}

    def left(self, scope: str) -> dict[str, int]:  # noqa: ARG002 - see `Placement`
        """Nothing: a wish that is missed is not known here."""
        return {}

    def clear(self, scope: str) -> None:
        """Leave the tasks of a query to Spark."""
        with self._lock:
            self._tables = {each: table for each, table in self._tables.items() if each != scope}
            self._cleared[scope] = time.time()

    def changed(self, scope: str) -> float:
        """Time at which the table of a query was last replaced, seconds since the epoch; 0.0 if it never was."""
        told = self._tables.get(scope)
        return told.at if told else self._cleared.get(scope, 0.0)

    def grant(self, scope: str, holder: str, group: str | None, seconds: float) -> None:  # noqa: ARG002 - see below
        """Name who pushed a table. A program that hangs tells nothing again, so that nothing has to lapse.

        Args:
            scope: Id of the query.
            holder: Name of who pushed it.
            group: As at level hard; here a table is always that of one run.
            seconds: As at level hard.
        """
        with self._lock:
            if scope in self._tables:
                self._tables = {**self._tables, scope: attrs.evolve(self._tables[scope], holder=holder)}

    def renew(self, scope: str, holder: str, seconds: float) -> bool:  # noqa: ARG002 - see `grant`
        """True while a table is this holder's.

        Args:
            scope: Id of the query.
            holder: Name that it was granted to.
            seconds: As at level hard.
        """
        return scope in self._tables and self._tables[scope].holder == holder

    def holds(self, scope: str, group: str | None) -> bool:
        """True unless the table of a query is that of another run.

        Args:
            scope: Id of the query.
            group: Id of a run.
        """
        told = self._tables.get(scope)
        return told is None or group in (None, told.run)

    def drop(self, scope: str, holder: str) -> None:
        """Leave the tasks of a query to Spark, if the table is this holder's.

        Args:
            scope: Id of the query.
            holder: Name that it was granted to.
        """
        if self.renew(scope, holder, 0.0):
            self.clear(scope)

    def _end(self, scope: str, run: str) -> None:
        if self.holds(scope, run):
            self.clear(scope)

    def _query(self, scope: str) -> Any:
        return next((query for query in self._spark.streams.active if str(query.id) == scope), None)

    def _tell(self, scope: str, batch: int) -> None:
        """Tell a table again; what fails is kept for those who ask, and the query goes on."""
        try:
            self._assert(scope, self._ran(scope, batch))
        except Exception as error:  # noqa: BLE001 - runs in a listener of the query
            self.failures = [*self.failures[-99:], f"{type(error).__name__}: {error}"]

    def _assert(self, scope: str, ran: Mapping[Place, str]) -> None:
        """Report the partitions as active where the table has them, as their tasks would, but for those that did."""
        told, query = self._tables.get(scope), self._query(scope)
        if told is None or query is None or str(query.runId) != told.run:
            return
        stages, alive = stateful_stages(query), located(self._spark)
        chosen = choose_executors(told.hosts, {each: node for each, (node, _) in alive.items()}, ran)
        jvm, coordinator = running_gateway().jvm, state_coordinator(self._spark)
        state = jvm.org.apache.spark.sql.execution.streaming.state
        root = f"{stream_execution(query).resolvedCheckpointRoot()}/state"
        # The run id tells the stores of this start of the query from earlier ones.
        run = jvm.java.util.UUID.fromString(told.run)
        none = jvm.PythonUtils.toSeq(jvm.java.util.ArrayList())
        for (stage, partition), executor in sorted(chosen.items()):
            if ran.get((stage, partition)) == executor:
                continue
            for operator in stages[stage] if stage < len(stages) else ():
                for store in operator.stores:
                    store_id = state.StateStoreId(root, operator.number, partition, store)
                    provider = state.StateStoreProviderId(store_id, run)
                    coordinator.reportActiveInstance(provider, alive[executor][1], executor, none)
                    self.told += 1


def stateful_stages(query: Any) -> tuple[tuple[Operator, ...], ...]:
    """The stateful operators of each stage of a query, by ordinal; of one without a batch yet none.

    Raises:
        EngineError: The query has ended a batch and keeps no state.
    """
    plan = read_plan(query)
    stages = by_stage(plan) if plan is not None else ()
    if plan is not None and not any(stages):
        raise EngineError(
            f"query {query.name or query.id} keeps no state, so level soft can place none of its stages: "
            "make the session with headworks_spark.session(...)"
        )
    return stages
