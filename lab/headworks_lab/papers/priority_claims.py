"""The printed figures of the thesis that need no simulator: its tables of nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks_lab.evidence.model import Claim, Point
from headworks_priority.options import DpsOptions, SpsOptions
from headworks_priority.sharing import dps, sps
from headworks_priority.workloads import USE_CASE_1, USE_CASE_2, use_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Plan, Request
    from headworks_priority.workloads import TopologyRow

EVENTS = ("EventTP1", "EventTP2")
STATIC = {"8": (USE_CASE_1, 16, (6, 6, 2, 2)), "12": (USE_CASE_2, 20, (13, 7))}
"""Use case, nodes, and nodes allocated, by table."""
DYNAMIC = {
    "9": (USE_CASE_1, 16, EVENTS, (5, 5, 3, 3), (8, 8, 0, 0)),
    "13": (USE_CASE_2, 20, ("TP1",), (13, 7), (16, 4)),
}
"""Use case, nodes, whose trigger comes on, and nodes allocated while it is off and on, by table."""
READING = ("reading=X",)
"""Chosen among two readings of Table 2 because Table 8 then comes out; all other tables come out with either."""
MISPRINT = "the table prints level 1 for TP2 too; its figures and the text say that TP2 stays at 2"


def sps_claims() -> Sequence[Claim]:
    """Tables 8 and 12, and a cluster that has all nodes desired."""
    return (*_static(), *_ample("sps"))


def dps_claims() -> Sequence[Claim]:
    """Tables 9 and 13, and a cluster that has all nodes desired."""
    return (*_dynamic(), *_ample("dps"))


def _static() -> Iterator[Claim]:
    for table, (rows, nodes, printed) in STATIC.items():
        for name, figure in zip(rows, printed, strict=True):
            yield Claim(
                id=f"table-{table}-{name}",
                source=f"Table {table}",
                statement=f"nodes of {name} under SPS, {nodes} nodes for 24 desired",
                printed=float(figure),
                verify=partial(_sps, rows, nodes, name),
                fitted=READING if table == "8" else (),
                point=Point(chart=f"Table {table}: nodes under SPS", series="SPS", x=name),
            )
    yield Claim(
        id="table-8-as-printed",
        source="Table 2, worked by hand",
        statement="the four shares of Table 8 with Table 2 read to the letter (option reading=Y)",
        by_hand="6, 5, 3, 2",
        verify=_letter,
        note="lines 15 to 19 carry the level's budget; Table 8 prints 6, 6, 2, 2, by the cluster's (reading=X)",
    )


def _dynamic() -> Iterator[Claim]:
    for table, (rows, nodes, on, *states) in DYNAMIC.items():
        for state, triggered, printed in (("off", (), states[0]), ("on", on, states[1])):
            for name, figure in zip(rows, printed, strict=True):
                yield Claim(
                    id=f"table-{table}-{state}-{name}",
                    source=f"Table {table}",
                    statement=f"nodes of {name} under DPS, {nodes} nodes, trigger {state}",
                    printed=float(figure),
                    verify=partial(_dps, rows, nodes, triggered, name),
                    note=MISPRINT if (table, state, name) == ("13", "on", "TP2") else "",
                    point=Point(chart=f"Table {table}: nodes under DPS", series=f"trigger {state}", x=name),
                )


def _ample(scheduler: str) -> Iterator[Claim]:
    """One figure: that each topology has what it desires where there is enough shows little."""
    verify = partial(_sps, USE_CASE_1, 24) if scheduler == "sps" else partial(_dps, USE_CASE_1, 24, EVENTS)
    yield Claim(
        id="ample-desired",
        source="section 4.1.8 and Table 6",
        statement=f"nodes under {scheduler.upper()}, 24 nodes for 24 desired: as the Isolation Scheduler gives them",
        printed=", ".join(f"{row.desired}" for row in USE_CASE_1.values()),
        verify=lambda: ", ".join(f"{verify(name):g}" for name in USE_CASE_1),
    )


def _letter() -> str:
    plan = _plan_sps(use_case(USE_CASE_1, 16), SpsOptions(reading="Y"))
    return ", ".join(f"{_nodes(plan, name)}" for name in USE_CASE_1)


def _sps(rows: Mapping[str, TopologyRow], nodes: int, name: str) -> float:
    return float(_nodes(_plan_sps(use_case(rows, nodes), SpsOptions()), name))


def _dps(rows: Mapping[str, TopologyRow], nodes: int, triggered: Sequence[str], name: str) -> float:
    return float(_nodes(dps(use_case(rows, nodes, triggered), DpsOptions()), name))


def _plan_sps(request: Request, options: SpsOptions) -> Plan:
    return sps(request, options)


def _nodes(plan: Plan, topology: str) -> int:
    """Nodes on which a plan runs a topology: counted on the placement, not read from the shares."""
    return len({slot.node for task, slot in plan.assignment.items() if task.startswith(f"{topology}/")})
