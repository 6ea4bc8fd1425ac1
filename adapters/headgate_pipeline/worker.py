"""What a Python worker of Spark does for a sweep; the workers need this package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headgate_pipeline.experiments import Experiment, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator


class Worker:
    """Takes batches with the numbers of experiments, gives batches with what they found."""

    def __init__(self, experiments: tuple[str, ...]) -> None:
        """Take what is sent along to every worker: experiments as JSON."""
        self._experiments = experiments

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run them one after the other."""
        from pyarrow import RecordBatch

        for batch in batches:
            numbers = batch.column(0).to_pylist()
            found = [try_out(Experiment(**json.loads(self._experiments[each]))) for each in numbers]
            columns = {
                "number": numbers,
                "figures": [json.dumps(dict(each.figures)) for each in found],
                "error": [each.error for each in found],
            }
            yield RecordBatch.from_pydict(columns)
