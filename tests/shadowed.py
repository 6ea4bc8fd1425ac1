"""Rounds that acted, and the same observations planned again in shadow."""

from __future__ import annotations

import attrs

from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Loop
from headworks.documents import digest, dumps, fingerprint, restore
from memory_engine import Engine, Machine


def acted(host, control, target, folder, schedulers):
    """A round by each scheduler, one after the other, as the journal has it, and the observation that it began with."""
    observed = []
    for name in schedulers:
        kept = []
        journal = FileJournal(folder / "journal")
        Loop(host, attrs.evolve(control, scheduler=name), target, journal, keep=kept.append).round(replan=True)
        observed.append(kept[0])
    rounds = [restore(each, Round) for each in read_journal(folder / "journal")]
    return list(zip(rounds, observed, strict=True))


def check_in_shadow(host, control, done, seen):
    """The observation of a round gives the same plan in shadow, by its digest, and nothing is carried out."""
    alone = Machine(seen)
    quiet = attrs.evolve(control, scheduler=done.plan.provenance.scheduler, engine="replay", shadow=True)
    quiet = attrs.evolve(quiet, options=host.options_on(control.engine, quiet.scheduler, control.options))
    shadow = Loop(host.with_plugin("replay", Engine()), quiet, alone).round(replan=True)
    assert shadow.plan.provenance.request == digest(done.request)
    assert fingerprint(dumps(shadow.plan)) == fingerprint(dumps(done.plan)), done
    assert "execute" not in alone.calls
