"""Hypothesis strategies of the model. What they draw is what decides; ids are counted, so that shrinking is quick."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from headworks.errors import how_to_install
from headworks.testing.instances.build import MEDIUM, Size, build_cluster, build_request, build_topology, constrained

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn
except ImportError as error:
    raise ImportError(
        f"headworks.testing.instances.strategies needs Hypothesis: {how_to_install('testing')}"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from headworks.model import Cluster, Request, Topology

T = TypeVar("T")


@attrs.frozen
class _Drawn:
    """Choices that Hypothesis makes."""

    draw: DrawFn

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))


@st.composite
def _clusters(draw: DrawFn, size: Size) -> Cluster:
    return build_cluster(_Drawn(draw), size)


@st.composite
def _topologies(draw: DrawFn, size: Size) -> Topology:
    return build_topology(_Drawn(draw), 0, size)


@st.composite
def _requests(draw: DrawFn, size: Size, *, fresh: bool, bound: bool) -> Request:
    dice = _Drawn(draw)
    request = build_request(dice, size, fresh=fresh)
    return constrained(dice, request) if bound else request


def clusters(size: Size = MEDIUM) -> SearchStrategy[Cluster]:
    """Clusters of 1 to `size.nodes` nodes with few slots, some with a third resource."""
    return _clusters(size)


def topologies(size: Size = MEDIUM) -> SearchStrategy[Topology]:
    """Topologies of a spout and bolts, some with a heap limit that fits one or two tasks."""
    return _topologies(size)


def requests(size: Size = MEDIUM, *, fresh: bool = False, bound: bool = False) -> SearchStrategy[Request]:
    """Valid requests.

    Args:
        size: Their bounds; `headworks.testing.instances.build.SMALL` is small enough to try every placement.
        fresh: Nothing runs yet, nothing is measured, nothing is limited.
    """
    return _requests(size, fresh=fresh, bound=bound)
