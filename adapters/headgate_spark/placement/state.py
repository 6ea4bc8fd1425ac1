"""Preferred locations, without a jar, of a streaming query's stateful stage: the state-store coordinator is told them.

A state task runs where the state-store coordinator says that the partition was last. Every task reports itself there
when it runs, so the table is told again after each batch. The wish is a preferred location: it can be missed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from headgate.errors import EngineError
from headgate_spark.driver.gateway import running_gateway, state_coordinator, stream_execution
from headgate_spark.driver.session import SOFT, executors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headgate_spark.placement.table import Place

JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
"""Names of the stores of a stream-stream join; every other operator has one, `default`."""


class StatePlacement:
    """The host of each partition of the stateful stage, by query id. The first stateful operator is placed alone."""

    level = SOFT

    def __init__(self, spark: SparkSession) -> None:
        """Listen to the queries of a classic session; `close` ends that."""
        # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
        from pyspark.sql.streaming import StreamingQueryListener

        self._spark = spark
        self._tables: dict[str, dict[Place, str]] = {}
        self._lock = threading.Lock()
        self.failures: list[str] = []
        """Reasons why a table could not be told, latest last, at most 100."""
        placement = self

        class Again(StreamingQueryListener):  # type: ignore[misc]  # PySpark's types are not read
            """Tell the table after every batch."""

            def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """Nothing is known of its state yet."""

            def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """A batch ended, and its tasks have reported where they ran."""
                placement._tell(str(event.progress.id))

            def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """No batch, no report."""

            def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - PySpark's name
                """Forget the query."""
                placement.clear(str(event.id))

        self._listener = Again()
        spark.streams.addListener(self._listener)

    def close(self) -> None:
        """Leave all queries to Spark."""
        self._tables = {}
        self._spark.streams.removeListener(self._listener)

    def push(self, scope: str, hosts: Mapping[Place, str]) -> None:
        """Replace the table of a query; it holds from the next batch on.

        Args:
            scope: Id of the streaming query.
            hosts: Host of each (stage ordinal, partition); partitions that are not in it are left to Spark.

        Raises:
            EngineError: There is no such query, or it keeps no state.
        """
        if self._query(scope) is None:
            raise EngineError(
                f"no active streaming query has the id {scope!r}, and level soft places nothing else from outside: "
                "see headgate_spark.placement.soft for what a program hands to Spark itself"
            )
        with self._lock:
            self._tables = {**self._tables, scope: dict(hosts)}
        self._assert(scope)

    def read(self, scope: str) -> dict[Place, str]:
        """The table of a query, empty if it has none."""
        return dict(self._tables.get(scope, {}))

    def clear(self, scope: str) -> None:
        """Leave the tasks of a query to Spark."""
        with self._lock:
            self._tables = {each: table for each, table in self._tables.items() if each != scope}

    def _query(self, scope: str) -> Any:
        return next((query for query in self._spark.streams.active if str(query.id) == scope), None)

    def _tell(self, scope: str) -> None:
        """Tell a table again; what fails is kept for those who ask, and the query goes on."""
        try:
            self._assert(scope)
        except Exception as error:  # noqa: BLE001 - runs in a listener of the query
            self.failures = [*self.failures[-99:], f"{type(error).__name__}: {error}"]

    def _assert(self, scope: str) -> None:
        """Report the partitions as active where the table has them, as their tasks would."""
        table, query = self._tables.get(scope), self._query(scope)
        if not table or query is None:
            return
        # Of several executors on a host the first by id, so that a partition stays where it is from batch to batch.
        alive = {host: executor for executor, host in sorted(executors(self._spark).items(), reverse=True)}
        jvm, coordinator = running_gateway().jvm, state_coordinator(self._spark)
        state = jvm.org.apache.spark.sql.execution.streaming.state
        root = f"{stream_execution(query).resolvedCheckpointRoot()}/state"
        run = jvm.java.util.UUID.fromString(str(query.runId))
        none = jvm.PythonUtils.toSeq(jvm.java.util.ArrayList())
        for (_, partition), host in sorted(table.items()):
            for store in _stores(query) if host in alive else ():
                # Operator 0 of the query; the run id tells the stores of this start of the query from earlier ones.
                store_id = state.StateStoreId(root, 0, partition, store)
                provider = state.StateStoreProviderId(store_id, run)
                coordinator.reportActiveInstance(provider, host, alive[host], none)


def _stores(query: Any) -> tuple[str, ...]:
    """Names of the stores of the first stateful operator.

    Raises:
        EngineError: The query has ended a batch and keeps no state.
    """
    progress = query.lastProgress
    operators = progress["stateOperators"] if progress else [{}]
    if not operators:
        raise EngineError(
            f"query {query.name or query.id} keeps no state, so level soft can place none of its stages: "
            "make the session with headgate_spark.session(...)"
        )
    return JOIN_STORES if operators[0].get("operatorName") == "symmetricHashJoin" else ("default",)
