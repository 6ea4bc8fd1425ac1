"""The function that Spark's Python workers run for a sweep; they need this package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyarrow import RecordBatch

from headworks_lab.sweeps.experiments import Experiment, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator


class Worker:
    """Function of `mapInArrow`: record batches of experiments' numbers in, record batches of their outcomes out."""

    def __init__(self, experiments: tuple[str, ...]) -> None:
        """Hold the experiments, as JSON, which are sent along to every task."""
        self._experiments = experiments

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run them one after the other."""
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            found = [try_out(Experiment(**json.loads(self._experiments[each]))) for each in numbers]
            columns = {
                "number": numbers,
                "figures": [json.dumps(dict(each.figures)) for each in found],
                "error": [each.error for each in found],
            }
            yield RecordBatch.from_pydict(columns)
