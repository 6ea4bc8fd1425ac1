"""Changes from one knowledge to the next, as a reader of a report wants to see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model.knowledge import Knowledge

LEAST = 0.02
"""Relative change of a figure that is told, beyond its error."""


@attrs.frozen(kw_only=True)
class Change:
    """A difference: `subject` is of a `kind`, and was something `before` and is another `after` ("" for nothing)."""

    kind: str
    subject: str
    before: str
    after: str


def changes(before: Knowledge, after: Knowledge) -> tuple[Change, ...]:
    """Profiles, demands, traffic and nodes that came, went or changed, and profiles that stopped to hold.

    Args:
        before: Knowledge of the run before; an empty one for the first.
        after: Knowledge of this run.
    """
    drifts = set(after.drifts) - set(before.drifts)
    return (
        *_of_figures("profile", _profiles(before), _profiles(after)),
        *_of_figures("demand, p95", _demands(before), _demands(after)),
        *_of_figures("traffic, tuples/s", _traffic(before), _traffic(after)),
        *_of_texts("node", *({each.node: each.state for each in one.nodes} for one in (before, after))),
        *(
            Change(kind="drift", subject=_name(each), before="held", after=f"{each.ratio:.2f} times since {each.hour}")
            for each in sorted(drifts, key=_name)
        ),
    )


Figures = dict[str, dict[str, tuple[float, float]]]
"""Figures of a subject by name, each with its error."""


def _name(each: object) -> str:
    parts = (getattr(each, "topology", ""), getattr(each, "component", ""), getattr(each, "machine_type", ""))
    return "/".join(part for part in parts[:2] if part) + (f" on {parts[2]}" if parts[2] else "")


def _profiles(knowledge: Knowledge) -> Figures:
    return {
        _name(each.profile): {"e": (each.profile.e, each.e_error), "met": (each.profile.met, each.met_error)}
        for each in knowledge.profiles
    }


def _demands(knowledge: Knowledge) -> Figures:
    return {f"{_name(each)}: {each.resource}": {"": (each.p95, 0.0)} for each in knowledge.demands}


def _traffic(knowledge: Knowledge) -> Figures:
    return {
        f"{each.topology}: {each.source} to {each.target}": {"": (each.tuples or 0.0, 0.0)}
        for each in knowledge.traffic
    }


def _text(figures: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {value:.4g}".strip() for name, (value, _) in figures.items())


def _of_figures(kind: str, before: Figures, after: Figures) -> Iterator[Change]:
    for subject in sorted({*before, *after}):
        old, new = before.get(subject, {}), after.get(subject, {})
        if old.keys() != new.keys() or any(_differs(old[name], new[name]) for name in old):
            yield Change(kind=kind, subject=subject, before=_text(old), after=_text(new))


def _differs(old: tuple[float, float], new: tuple[float, float]) -> bool:
    """True beyond both errors and `LEAST`: an interval that grew narrower is no change."""
    return abs(new[0] - old[0]) > max(old[1] + new[1], LEAST * max(abs(old[0]), abs(new[0])))


def _of_texts(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for subject in sorted({*before, *after}):
        if before.get(subject) != after.get(subject):
            yield Change(kind=kind, subject=subject, before=before.get(subject, ""), after=after.get(subject, ""))
