"""Knowledge of applications and machines from many hours of samples: the K of MAPE-K, as a document."""

from __future__ import annotations

from typing import Literal

import attrs

from headworks.model.request import Profile, TransferCost
from headworks.model.values import FrozenMap


@attrs.frozen(kw_only=True)
class ProfileFit:
    """A fitted profile with its errors.

    Attributes:
        profile: `e` and `met` in percent of the machine, as schedulers take them.
        source: Way in which CPU was measured.
        samples: Windows that it rests on; `outliers` of them were left out.
        identified: True if rates differed enough to tell `e` from `met`; if not, `e` carries all the cost.
        e_error, met_error: Half of the 95 % interval around `e` and `met`, for independent windows.
        r2: Part of the variance of CPU that the rate explains, 0 to 1.
        since: First hour that it rests on, YYYY-MM-DDTHH: earlier ones did not fit any more.
    """

    profile: Profile
    source: str = ""
    samples: int
    outliers: int = 0
    identified: bool = True
    e_error: float = 0.0
    met_error: float = 0.0
    r2: float = 0.0
    since: str = ""


@attrs.frozen(kw_only=True)
class Demand:
    """Percentiles of what one task used in a window: CPU points, MB of memory, or tuples in its queue."""

    topology: str
    component: str
    machine_type: str
    resource: Literal["cpu", "memory", "queue"]
    samples: int
    p50: float
    p90: float
    p95: float
    p99: float
    peak: float


@attrs.frozen(kw_only=True)
class ComponentTraffic:
    """Traffic from all tasks of a component to all of another: tuples per second, and bytes per second where known."""

    topology: str
    source: str
    target: str
    tuples: float | None = None
    bytes: float | None = None


@attrs.frozen(kw_only=True)
class Drift:
    """End of a profile: from this hour on, CPU was `ratio` times its prediction."""

    topology: str
    component: str
    machine_type: str
    hour: str
    ratio: float


@attrs.frozen(kw_only=True)
class NodeHealth:
    """Health of a node.

    Attributes:
        state: `silent` was not seen in the last minutes, `gaps` not in all, `overloaded` is at its capacity, `slow`
            takes more CPU for the same tuples than its machine type.
        cpu: Mean CPU points; `cpu_p95`: of its minutes.
        seen: Part of the minutes of the time considered in which it reported, 0 to 1.
        slowness: CPU of its tasks over what their profiles predict; None where none does.
        reasons: Sentences with numbers, the first one that of the state.
    """

    node: str
    machine_type: str = ""
    state: Literal["healthy", "slow", "overloaded", "gaps", "silent"] = "healthy"
    cpu: float | None = None
    cpu_p95: float | None = None
    seen: float = 1.0
    slowness: float | None = None
    reasons: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Knowledge:
    """Profiles, demands, traffic, drift and health from the samples of some hours.

    Attributes:
        since, until: First and last hour, YYYY-MM-DDTHH in UTC.
        recent: First hour of those that traffic and node health are averages of.
        samples: Rows that were used. `rejected`: rows that were not, by reason.
        transfer: What a tuple costs from node to node on this engine; None where nobody measured it.
    """

    since: str = ""
    until: str = ""
    recent: str = ""
    samples: int = 0
    rejected: FrozenMap[str, int] = FrozenMap()
    profiles: tuple[ProfileFit, ...] = ()
    demands: tuple[Demand, ...] = ()
    traffic: tuple[ComponentTraffic, ...] = ()
    drifts: tuple[Drift, ...] = ()
    nodes: tuple[NodeHealth, ...] = ()
    transfer: TransferCost | None = None
