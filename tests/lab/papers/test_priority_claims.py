"""What was chosen to fit a table is said of that table, and of no other."""

from __future__ import annotations

from collections import Counter

import pytest

from headworks_lab.papers.priority_claims import STATIC, sps_claims
from headworks_priority.options import SpsOptions
from headworks_priority.plugin import sps
from headworks_priority.workloads import USE_CASE_1, use_case

CLAIMS = {claim.id: claim for claim in sps_claims()}
TABLES = {**STATIC, "ample": (USE_CASE_1, 24, (8, 8, 4, 4))}


@pytest.mark.parametrize("table", TABLES)
def test_only_table_8_needs_the_reading_that_was_chosen(table):
    rows, nodes, printed = TABLES[table]
    plan = sps.headworks_schedule(use_case(rows, nodes), SpsOptions(reading="Y"))
    places = {(task.partition("/")[0], slot.node) for task, slot in plan.assignment.items()}
    found = tuple(Counter(topology for topology, _ in places)[name] for name in rows)
    named = [claim for name, claim in CLAIMS.items() if f"{table}-" in name and claim.printed is not None]
    chosen = {claim.fitted for claim in named}
    assert (found != printed) == (chosen == {("reading=X",)})
