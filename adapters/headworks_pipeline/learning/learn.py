"""Learning from tables: profiles, demand, traffic, drift and health of the hours that a store has."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.model import FrozenMap, Profile
from headworks.model.knowledge import Demand, Drift, Knowledge, NodeHealth, ProfileFit
from headworks_pipeline.intake.files import last_hour
from headworks_pipeline.learning.drift import profile
from headworks_pipeline.learning.flows import traffic
from headworks_pipeline.learning.fold import GROUP, merged
from headworks_pipeline.learning.groups import split
from headworks_pipeline.learning.health import NodeRecord, health
from headworks_pipeline.places import readable
from headworks_pipeline.tables.histogram import quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from headworks.model import Cluster
    from headworks_pipeline.learning.drift import Track
    from headworks_pipeline.learning.fit import Line
    from headworks_pipeline.learning.fold import Group, Series, State
    from headworks_pipeline.tables.manifest import Manifest
    from headworks_pipeline.tables.store import Store

HISTORY = 168
"""Hours that profiles and demand rest on, a week: if larger, old versions of an application count longer; if smaller,
rare rates are not among them."""
RECENT = 1
"""Hours that traffic and health are averages of: if larger, a change of load is seen later; if smaller, it is noise."""


def hours_of(manifest: Manifest, now: datetime | None = None) -> list[str]:
    """Hours with rows that are used, oldest first.

    Args:
        manifest: Hours that there are.
        now: Time of the run: hours that are ahead of it do not count; None for all.
    """
    found = sorted(name for name, hour in manifest.hours.items() if hour.rows.get("", 0))
    return [name for name in found if now is None or name <= last_hour(now)]


def table(store: Store, manifest: Manifest, name: str, hours: Sequence[str]) -> dict[str, Any]:
    """Columns of a table as arrays, with the `hour` of each row.

    Args:
        store: Where it is.
        manifest: Which snapshots count.
        name: One of `TABLES`.
        hours: Hours to read, in order.

    Returns:
        Array by column, all of one length; {} if no hour has any row.
    """
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import array, concat_tables, parquet

    parts = []
    for hour in hours:
        for file in store.files(manifest, name, [hour]):
            # Without `partitioning=None` pyarrow would make a second column `hour` of the folder's name.
            part = parquet.read_table(readable(file), partitioning=None)
            parts.append(part.append_column("hour", array([hour] * part.num_rows, "string")))
    if not parts:
        return {}
    whole = concat_tables(parts, promote_options="default")
    return {column: whole[column].to_numpy() for column in whole.column_names}


def learn(state: State, recent: Mapping[str, Mapping[str, Any]], since: str, cluster: Cluster) -> Knowledge:
    """Everything that hours say.

    Args:
        state: What they have taught.
        recent: Columns of the tables `sums` and `windows` of the recent hours.
        since: First of the recent hours; "" if there are none.
        cluster: Machines, as far as they are known; their capacity is what a profile's percent are of.
    """
    groups = dict(profiles(state.tracks, capacities(cluster)))
    lines = {group: line for group, (_, line, _) in groups.items()}
    rows: Counter[str] = Counter()
    for block in state.blocks:
        rows.update(block.rows)
    return Knowledge(
        since=state.blocks[0].since if state.blocks else "",
        until=state.hour,
        recent=since,
        samples=rows.pop("", 0),
        rejected=FrozenMap(dict(sorted(rows.items()))),
        profiles=tuple(each for each, _, _ in groups.values()),
        demands=tuple(demands([block.levels for block in state.blocks])),
        traffic=tuple(traffic(recent["sums"])),
        drifts=tuple(each for _, _, drifts in groups.values() for each in drifts),
        nodes=tuple(nodes(recent["windows"], recent["sums"], lines, cluster)),
    )


def capacities(cluster: Cluster) -> dict[str, float]:
    """CPU points of a machine of each type: the least of its nodes."""
    found: dict[str, float] = {}
    for node in cluster.nodes:
        kind = node.machine_type or ""
        found[kind] = min(found.get(kind, np.inf), node.capacity.cpu)
    return {kind: points for kind, points in found.items() if points > 0}


def profiles(
    tracks: Mapping[Series, Track], points: Mapping[str, float]
) -> Iterator[tuple[Group, tuple[ProfileFit, Line, list[Drift]]]]:
    """The profile of each component on each machine type; of several ways of measuring, the one with most windows.

    Args:
        tracks: What the hours say of each way.
        points: CPU points of a machine of each type.

    Yields:
        The group, and its profile: in percent of the machine, as a line in points, and with its drifts.
    """
    found: dict[Group, tuple[float, str, Track]] = {}
    for (topology, component, kind, source), track in sorted(tracks.items()):
        group = (topology, component, kind)
        windows = sum(part.cells.n.sum() for part in track.all)
        if group not in found or (windows, source) > found[group][:2]:
            found[group] = (windows, source, track)
    for group, (_, source, track) in found.items():
        line, since = profile(track)
        names = dict(zip(GROUP, group, strict=True))
        drifts = [Drift(**names, hour=each.hour, ratio=each.ratio) for each in track.changes]
        yield group, (_fit(group, source, line, since, 100.0 / points.get(group[2], 100.0)), line, drifts)


def _fit(group: tuple[str, ...], source: str, line: Line, since: str, percent: float) -> ProfileFit:
    topology, component, kind = group

    def scaled(value: float) -> float:
        return float(f"{value * percent:.9g}")

    return ProfileFit(
        profile=Profile(
            topology=topology,
            component=component,
            machine_type=kind,
            e=scaled(line.e),
            met=scaled(line.met),
            alpha=line.alpha,
        ),
        source=source,
        samples=line.samples,
        outliers=line.outliers,
        identified=line.identified,
        e_error=scaled(line.e_error),
        met_error=scaled(line.met_error),
        r2=line.r2,
        since=since,
    )


def demands(levels: Sequence[Any]) -> Iterator[Demand]:
    """Percentiles of CPU, memory and queues of the tasks of each group.

    Args:
        levels: Tables `levels`, with CPU as one of the resources; None for one without rows.
    """
    whole = merged(levels)
    if whole is None:
        return
    counts = {name: whole[name].to_numpy() for name in ("y", "n", "peak")}
    keys = {name: whole[name] for name in (*GROUP, "resource")}
    for (*group, resource), rows in split(keys, *GROUP, "resource").items():
        level, n, peak = (counts[name][rows] for name in ("y", "n", "peak"))
        top = float(np.max(peak))
        # The middle of the highest level may lie above every amount in it: no percentile exceeds the peak.
        shares: dict[str, Any] = {f"p{share}": min(quantile(level, n, share / 100), top) for share in (50, 90, 95, 99)}
        names: dict[str, Any] = {**dict(zip(GROUP, group, strict=True)), "resource": resource}
        rounded: dict[str, Any] = {name: float(f"{value:.9g}") for name, value in shares.items()}
        yield Demand(**names, **rounded, samples=int(n.sum()), peak=top)


def nodes(
    windows: Mapping[str, Any], sums: Mapping[str, Any], lines: Mapping[Group, Line], cluster: Cluster
) -> Iterator[NodeHealth]:
    """Health of every node that was seen in the recent hours.

    Args:
        windows: Columns of the table `windows`.
        sums: Columns of the table `sums`, of the same hours.
        lines: Profile of each group, in points.
        cluster: Machines, as far as they are known.
    """
    capacity = {node.id: node.capacity.cpu for node in cluster.nodes}
    work = _work(sums, lines)
    found = {key[1:]: rows for key, rows in split(windows, "kind", "subject").items() if key[0] == "node"}
    if not found:
        return
    minutes = windows["minute"][np.concatenate(list(found.values()))]
    for (node,), rows in found.items():
        order = rows[np.argsort(windows["minute"][rows], kind="stable")]
        used, predicted, samples = work.get(node, (0.0, 0.0, 0))
        seen = NodeRecord(
            node=node,
            machine_type=windows["machine_type"][order[-1]] or "",
            minutes=windows["minute"][order].astype(np.int64),
            cpu=windows["cpu"][order].astype(np.float64),
            capacity=capacity.get(node),
            used=used,
            predicted=predicted,
            samples=samples,
        )
        # The time considered is that of all nodes: a node that is silent is so beside the others.
        yield health(seen, int(minutes.min()), int(minutes.max()))


def _work(sums: Mapping[str, Any], lines: Mapping[Group, Line]) -> dict[str, tuple[float, float, int]]:
    """CPU of the tasks on each node, what their profiles predict of it, and how many windows that were."""
    work: dict[str, tuple[float, float, int]] = {}
    for (kind, node, *group), rows in split(sums, "kind", "node", *GROUP).items():
        line = lines.get((group[0], group[1], group[2]))
        weight = np.nan_to_num(sums["w_rate"][rows].astype(np.float64)).sum()
        if kind != "task" or line is None or not weight:
            continue
        rate = np.nan_to_num(sums["s_rate"][rows].astype(np.float64)).sum()
        cpu = np.nan_to_num(sums["s_cpu"][rows].astype(np.float64)).sum()
        used, predicted, samples = work.get(node, (0.0, 0.0, 0))
        work[node] = (used + cpu, predicted + float(line.cpu(rate, weight)), samples + int(sums["n"][rows].sum()))
    return work
