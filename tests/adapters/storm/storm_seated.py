"""Rounds of Nimbus with a topology whose tasks have seats, for tests."""

from __future__ import annotations

import attrs

from headworks.model import Slot
from headworks_storm.nimbus.snapshot import read_snapshot
from storm_rounds import component, round_text, supervisor, topology

SEATS = {"workers": 2, "components": {"count": {"tasks": 3, "state": "stateless"}}, "was": {}}
A, B = Slot("s1", 6700), Slot("s2", 6700)
ELASTIC = {"workers": 2, "components": {"count": {"tasks": 3, "state": "stateless", "elastic": True}}, "was": {}}
"""The same, and any number of tasks gives the same results."""
OWNERS = {"wc": {"count": [3, 6, 7]}}
"""Tasks 0 and 2 live in `A`, in which seats have odd ids, and task 1 in `B`."""
LIVE = {"wc/count/0": A, "wc/count/1": B, "wc/count/2": A}


def flat(first, last):
    return [number for each in range(first, last + 1) for number in (each, each)]


def seated(*, slots=(A, B), assignment=(0, *[0, 1] * 3, 1), count=(3, 8), seats=SEATS, **conf):
    """Task 1 is the acker, 2 the spout; 3-4, 5-6 and 7-8 are the seats of three tasks."""
    inputs = [["count", "headworks", "direct"], ["lines", "default", "custom"], ["lines", "headworks", "direct"]]
    parts = (
        component("__acker", flat(1, 1), kind="system"),
        component("count", flat(*count), inputs=inputs),
        component("lines", flat(2, 2), kind="spout"),
    )
    where = {"slots": list(map(attrs.astuple, slots)), "assignment": list(assignment)} if assignment else {}
    return topology("wc", *parts, conf={"headworks.seats": seats, **conf}, **where)


def snapshot(*topologies, supervisors=("s1", "s2"), **more):
    return read_snapshot(round_text([supervisor(each, **more) for each in supervisors], topologies))
