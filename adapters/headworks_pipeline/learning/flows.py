"""Rates of flows, and of the traffic between components, from the table `sums`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model.knowledge import ComponentTraffic
from headworks_pipeline.learning.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ENDS = ("topology", "task", "target", "component", "target_component")
"""Columns whose values make a flow."""


@attrs.frozen(kw_only=True, eq=False)
class FlowRates:
    """Flows in order of `ENDS`; a stream, between all tasks of two components, has their names as its tasks'.

    Attributes:
        ends: object (k,) for each of `ENDS`: names.
        tuples: float64 (k,), a second while the sender was watched; nan where nothing was measured.
        bytes: float64 (k,), likewise.
    """

    ends: tuple[NDArray[np.object_], ...]
    tuples: NDArray[np.float64]
    bytes: NDArray[np.float64]

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], float | None, float | None]]:
        """The names of each flow, its tuples/s and bytes/s; None where nothing was measured."""
        amounts = (map(_rounded, values.tolist()) for values in (self.tuples, self.bytes))
        return zip(zip(*self.ends, strict=True), *amounts, strict=True)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.9g}")


def task_seconds(sums: Mapping[str, Any]) -> dict[str, float]:
    """Seconds for which each task was watched."""
    own = _of_kind(sums, "task")
    groups = Groups.of(own, "task")
    seconds = groups.sums(own["seconds"]).tolist() if own else ()
    return dict(zip(groups.values[0], seconds, strict=True))


def flow_rates(sums: Mapping[str, Any], kind: str = "flow") -> FlowRates:
    """Rates of flows, all at once: an application may have more flows than all else that is learnt of it.

    Args:
        sums: Columns of the table `sums`.
        kind: `flow`, or `stream` for those between all tasks of two components, whose names stand for the tasks'.
    """
    own = _of_kind(sums, kind)
    groups = Groups.of(own, *ENDS)
    ends = groups.keys()
    if not own:
        return FlowRates(ends=ends, tuples=np.empty(0), bytes=np.empty(0))
    senders, sender = groups.values[1], groups.codes[1]
    watched = _watched(sums, kind)
    known = np.array([watched.get(name, 0.0) for name in senders], dtype=np.float64)[sender]
    # Flows without tuples are not reported: their sender's time counts, not the time of the reports.
    whole = np.maximum(known, groups.sums(own["seconds"]))
    rates = (
        np.divide(groups.sums(own[f"s_{name}"]), whole, out=np.full(len(whole), np.nan), where=whole > 0)
        for name in ("tuples", "bytes")
    )
    return FlowRates(ends=ends, tuples=next(rates), bytes=next(rates))


def traffic(sums: Mapping[str, Any]) -> Iterator[ComponentTraffic]:
    """Traffic between components."""
    flows = [flow_rates(sums, kind) for kind in ("flow", "stream")]
    names = ("topology", "source", "target")
    ends = zip(names, (ENDS.index(each) for each in ("topology", "component", "target_component")), strict=True)
    columns = {name: np.concatenate([each.ends[at] for each in flows]) for name, at in ends}
    groups = Groups.of(columns, *names)
    amounts = (
        map(_rounded, groups.sums(np.concatenate([getattr(each, name) for each in flows])).tolist())
        for name in ("tuples", "bytes")
    )
    for topology, source, target, tuples, size in zip(*groups.keys(), *amounts, strict=True):
        yield ComponentTraffic(topology=topology, source=source, target=target, tuples=tuples, bytes=size)


def _of_kind(sums: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Columns of the rows of a kind; {} if there are none."""
    if not sums or not (chosen := sums["kind"] == kind).any():
        return {}
    return {name: column[chosen] for name, column in sums.items()}


def _watched(sums: Mapping[str, Any], kind: str) -> dict[str, float]:
    """Seconds for which each sender was watched: a component for as long as the one of its tasks that was longest."""
    seconds = task_seconds(sums)
    for task, watched in tuple(seconds.items()) if kind == "stream" else ():
        component = task.rpartition("/")[0]
        seconds[component] = max(watched, seconds.get(component, 0.0))
    return seconds
