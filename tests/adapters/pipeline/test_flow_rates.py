"""Rates of flows: all at once, and what a loop over the rows gives."""

from __future__ import annotations

import math
import sys
from collections import defaultdict

import numpy as np
import pytest

from headworks_pipeline.learning.flows import flow_rates, task_seconds, traffic
from headworks_pipeline.learning.groups import Groups

pytest.importorskip("pyarrow")
PARTS = ("a", "b", "c")


def table(senders, receivers, seed=0, hours=2):
    """Columns of `sums`: in each hour every task, a flow from each sender to each receiver, and a stream."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(hours):
        for component, count in (("a", senders), ("b", receivers)):
            rows += [("task", component, f"t/{component}/{at}", None, None) for at in range(count)]
        rows += [("flow", "a", f"t/a/{at}", f"t/b/{to}", "b") for at in range(senders) for to in range(receivers)]
        rows.append(("stream", "b", "t/b", "t/c", "c"))
    order = rng.permutation(len(rows))
    names = ("kind", "component", "task", "target", "target_component")
    columns = {name: np.array([rows[at][i] for at in order], dtype=object) for i, name in enumerate(names)}
    columns["topology"] = np.full(len(rows), "t", dtype=object)
    columns["seconds"] = rng.uniform(1.0, 60.0, len(rows))
    for name in ("tuples", "bytes"):
        amounts = rng.uniform(0.0, 1e6, len(rows))
        columns[f"s_{name}"] = np.where(rng.random(len(rows)) < 0.3, np.nan, amounts)
    return columns


def by_hand(columns, kind):
    """Rate of each flow, from a loop over the rows."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    watched, own = defaultdict(float), defaultdict(float)
    amounts = defaultdict(lambda: {"tuples": [], "bytes": []})
    for row in rows:
        if row["kind"] == "task":
            watched[row["task"]] += row["seconds"]
    if kind == "stream":
        for component in PARTS:
            of = [seconds for task, seconds in watched.items() if task.startswith(f"t/{component}/")]
            watched[f"t/{component}"] = max(of, default=0.0)
    for row in rows:
        if row["kind"] == kind:
            key = ("t", row["task"], row["target"], row["component"], row["target_component"])
            own[key] += row["seconds"]
            for name, some in amounts[key].items():
                some += [] if math.isnan(row[f"s_{name}"]) else [row[f"s_{name}"]]
    return {
        key: [sum(some) / max(watched[key[1]], own[key]) if some else None for some in amounts[key].values()]
        for key in sorted(own)
    }


@pytest.mark.parametrize("kind", ["flow", "stream"])
@pytest.mark.parametrize("seed", range(5))
def test_rates_are_what_a_loop_over_the_rows_gives(kind, seed):
    columns = table(4, 3, seed)
    found = {key: [tuples, size] for key, tuples, size in flow_rates(columns, kind)}
    wanted = by_hand(columns, kind)
    assert list(found) == list(wanted)
    for key, amounts in wanted.items():
        assert [each is None for each in found[key]] == [each is None for each in amounts]
        assert [each for each in found[key] if each] == pytest.approx([each for each in amounts if each], rel=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_traffic_is_the_sum_of_the_flows_and_streams(seed):
    columns = table(4, 3, seed)
    links = defaultdict(lambda: [None, None])
    for kind in ("flow", "stream"):
        for (_, _, _, source, target), amounts in by_hand(columns, kind).items():
            for at, amount in enumerate(amounts):
                if amount is not None:
                    links[source, target][at] = (links[source, target][at] or 0.0) + amount
    found = {(each.source, each.target): [each.tuples, each.bytes] for each in traffic(columns)}
    assert found == {
        key: [each and pytest.approx(each, rel=1e-8) for each in amounts] for key, amounts in links.items()
    }


def test_the_order_of_rows_changes_nothing():
    columns = table(4, 3, hours=5)
    turned = {name: column[::-1] for name, column in columns.items()}
    assert list(flow_rates(columns)) == list(flow_rates(turned))
    assert list(traffic(columns)) == list(traffic(turned))


def test_nothing_is_no_flow():
    columns = table(1, 1)
    tasks = {name: column[columns["kind"] == "task"] for name, column in columns.items()}
    for some in ({}, tasks):
        assert list(flow_rates(some)) == list(traffic(some)) == []
    assert (task_seconds({}), len(task_seconds(tasks))) == ({}, 2)
    assert len(Groups.of({}, "a").sums(np.empty(0))) == 0


def test_no_step_of_python_is_taken_for_each_flow():
    """An application may have a quarter of a million flows, where it has a thousand tasks."""
    columns, steps = table(60, 60, hours=1), 0

    def count(_frame, event, _argument):
        nonlocal steps
        steps += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        (both,) = [each for each in traffic(columns) if each.source == "a"]
    finally:
        sys.setprofile(before)
    assert both.tuples
    assert steps < 60 * 60
