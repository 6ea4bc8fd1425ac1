"""The plan after a change beside what runs now, and both as the simulated engine predicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.control.simulated import LoadFigures, figures, predicted
from headworks.errors import HeadworksError
from headworks.model import Plan, Request, Scores
from headworks.model.scaling import rescaled
from headworks.model.variants import RequestChange, changed
from headworks.problem.plan.standing import as_it_runs
from headworks.report.format import percent, quantity, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headworks.plugins.host import PluginHost

COLUMNS = ("figure", "present", "planned", "present predicted", "planned predicted")


@attrs.frozen(kw_only=True)
class WhatIf:
    """A change, and what it would bring.

    Attributes:
        change: What is changed.
        scheduler: Name of the one that planned.
        present: Scores of what runs. `measured`: what was measured of it.
        plan: The plan for the request after the change.
        before: Prediction of what runs, without the change. `after`: that of the plan.
        unpredicted: The reason where one of these is missing, else "".
    """

    change: RequestChange
    scheduler: str
    present: Scores
    measured: LoadFigures
    plan: Plan
    before: LoadFigures | None = None
    after: LoadFigures | None = None
    unpredicted: str = ""


def what_if(
    request: Request,
    change: RequestChange,
    scheduler: str,
    host: PluginHost,
    options: Mapping[str, Any] | None = None,
) -> WhatIf:
    """Plan a request after a change, and predict the plan and what runs now.

    Args:
        scheduler: Name of the one that plans.
        options: Its options by name.

    Raises:
        DocumentError: A node, a machine type or a constraint of the change is not there.
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit.
    """
    asked = changed(request, change)
    plan = host.schedule(scheduler, asked, options)
    found = WhatIf(
        change=change,
        scheduler=scheduler,
        present=as_it_runs(request).scores,
        measured=figures(request),
        plan=plan,
    )
    try:
        runs = as_it_runs(request).assignment
        before = predicted(host, attrs.evolve(request, assignment=runs)) if runs else None
        after = predicted(host, attrs.evolve(rescaled(asked, plan), assignment=plan.assignment))
    except HeadworksError as error:
        return attrs.evolve(found, unpredicted=f"nothing is predicted: {error}")
    return attrs.evolve(found, before=before, after=after)


def rows(found: WhatIf) -> Iterator[tuple[str, ...]]:
    """The cells of a table with the columns `COLUMNS`; figures of which nothing is known are left out."""
    scored = (found.present if found.present.workers else None, found.plan.scores)
    loads = (found.before, found.after)
    yield ("status", "", found.plan.label, "", "")
    for name, of_scores, of_load in FIGURES:
        present, planned = (_cell(of_scores, each) for each in scored)
        cells = (present or _cell(of_load, found.measured), planned, *(_cell(of_load, each) for each in loads))
        if any(cells):
            yield (name, *cells)


def _cell(text: Callable[[Any], str] | None, of: object | None) -> str:
    found = "" if text is None or of is None else text(of)
    return "" if found == "-" else found


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _completed(load: LoadFigures) -> str:
    return percent(load.completed / load.offered) if load.completed is not None and load.offered else "-"


FIGURES: tuple[tuple[str, Callable[[Scores], str] | None, Callable[[LoadFigures], str] | None], ...] = (
    ("traffic between nodes", lambda scores: percent(scores.share), lambda load: _share(load.share)),
    ("nodes used", lambda scores: str(scores.nodes_used), None),
    ("workers", lambda scores: str(scores.workers), None),
    ("fullest node", lambda scores: percent(scores.fullest_node), lambda load: _share(load.fullest_node)),
    ("load that it bears", lambda scores: times(scores.factor), None),
    ("cost per hour", lambda scores: quantity(scores.cost, 4), None),
    ("longest batch, s", lambda scores: quantity(scores.batch_seconds), None),
    ("penalty of soft constraints", lambda scores: quantity(scores.penalty) if scores.penalty else "-", None),
    ("tasks without a slot", lambda scores: str(scores.unplaced), None),
    ("running tasks that move", lambda scores: str(scores.moves), None),
    ("tuples/s offered", None, lambda load: quantity(load.offered)),
    ("tuples/s completed", None, lambda load: quantity(load.completed)),
    ("completed of offered", None, _completed),
    ("latency, ms", None, lambda load: quantity(load.latency)),
)
"""Figures by name, of scores and of a load."""
