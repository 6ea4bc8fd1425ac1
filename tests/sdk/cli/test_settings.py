"""The table of settings: what is in it, what fits, and what is made of it."""

from __future__ import annotations

import math
import re

import attrs
import pytest

from headworks.cli.settings import Pace, make, settings_of
from headworks.control.autoscale import Fleet
from headworks.control.guards import Guards
from headworks.control.loop import Control
from headworks.control.moves_per import MovesPer
from headworks.model import FILL, Limits

TABLE = {each.name: each for each in settings_of(Control, Pace)}
NO_SETTINGS = {"scheduler", "engine", "options", "limits", "guards", "seed", "restarts"}
"""Fields that a command has parameters for, that are tables themselves, or that an adapter sets."""


def test_every_field_of_the_loop_is_a_setting():
    fields = [each for kind in (Control, Limits, Guards, Pace) for each in attrs.fields(kind)]
    assert set(TABLE) == {each.metadata.get("name", each.name) for each in fields} - NO_SETTINGS
    assert len(TABLE) == len(settings_of(Control, Pace))


@pytest.mark.parametrize("setting", TABLE.values(), ids=TABLE)
def test_a_setting_explains_itself_and_its_default_fits(setting):
    assert re.fullmatch(r"[A-Z].*[a-z]\.", setting.help)
    assert setting.convert(setting.default) == setting.default


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("window", "0.1", 0.1),
        ("window", 2, 2.0),
        ("interval", 0, 0.0),
        ("rounds", "1", 1),
        ("max_moves", "none", None),
        ("min_gain", 1, 1.0),
        ("goal", "latency", "latency"),
        ("replan", "yes", True),
        ("shadow", False, False),
        ("elastic", "1:4", Fleet(minimum=1, maximum=4)),
        ("elastic", "3:3", Fleet(minimum=3, maximum=3)),
        ("moves_per", "topology=2,node=4,day=20", MovesPer(topology=2, node=4, day=20)),
    ],
)
def test_a_value_that_fits_is_converted(name, given, value):
    found = TABLE[name].convert(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("window", "0.05", "'0.05' is not a number, at least 0.1"),
        ("window", math.nan, "nan is not a number"),
        ("window", None, "None is not a number"),
        ("interval", "inf", "'inf' is not a number, at least 0"),
        ("interval", -1, "-1 is not"),
        ("rounds", 0, "0 is not a whole number or none, at least 1"),
        ("rounds", 1.5, "1.5 is not a whole number or none"),
        ("max_moves", True, "True is not a whole number or none, at least 0"),
        ("deadline", 0, "0 is not a number, more than 0"),
        ("min_gain", 1.01, "1.01 is not a number or none, at least 0 and at most 1"),
        ("min_gain", -0.01, "-0.01 is not a number"),
        ("goal", "speed", "'speed' is not load | traffic | nodes | cost | fullest | latency | throughput or none"),
        ("settle", 0, "0 is not a whole number, at least 1"),
        ("reassert", "x", "'x' is not a whole number, at least 0"),
        ("shadow", "perhaps", "'perhaps' is not true or false"),
        *(
            ("elastic", each, "is not a range of nodes: expected MIN:MAX")
            for each in ("4", "2:1", "0:3", "a:b", ":", 4)
        ),
        ("moves_per", "hour=3", "'hour=3' is not bounds on moves: expected topology=N, node=N and day=N, or some"),
        ("moves_per", 4, "4 is not bounds on moves"),
    ],
)
def test_a_value_that_does_not_fit_is_told_what_does(name, given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        TABLE[name].convert(given)


def test_settings_go_where_they_belong():
    values = {"deadline": 2.0, "max_moves": 3, "min_gain": 0.25, "window": 1.5, "rounds": 7}
    control = make(Control, values, scheduler="s", engine="e")
    assert control == Control(
        scheduler="s",
        engine="e",
        limits=Limits(deadline=2.0, max_moves=3, fill=FILL),
        guards=Guards(gain=0.25),
        window=1.5,
    )
    assert make(Pace, values) == Pace(rounds=7)
    assert make(Control, {}, scheduler="s", engine="e") == Control(scheduler="s", engine="e")
