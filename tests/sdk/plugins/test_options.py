"""Options of a plugin: from text or plain values to its attrs class."""

from __future__ import annotations

from typing import Literal

import attrs
import pytest

from headgate.errors import OptionError
from headgate.plugins.options import make_options


@attrs.frozen(kw_only=True)
class Options:
    """One field of every type that is allowed."""

    spread: bool = False
    rounds: int = 3
    weight: float = 1.0
    name: str = "x"
    limit: int | None = None
    share: float | None = None
    order: Literal["size", "traffic"] = "size"
    level: Literal[1, 2] = 1


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("spread", "yes", True),
        ("spread", "off", False),
        ("spread", True, True),
        ("rounds", "7", 7),
        ("rounds", 7.0, 7),
        ("weight", "0.5", 0.5),
        ("weight", 2, 2.0),
        ("name", 5, "5"),
        ("limit", "none", None),
        ("limit", None, None),
        ("limit", "4", 4),
        ("share", "0.25", 0.25),
        ("order", "traffic", "traffic"),
        ("level", "2", 2),
    ],
)
def test_a_value_that_fits_is_converted(name, given, value):
    found = getattr(make_options("acme", Options, {name: given}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("spread", "maybe"),
        ("spread", 1),
        ("rounds", "many"),
        ("rounds", "2.5"),
        ("rounds", 2.5),
        ("rounds", True),
        ("rounds", float("inf")),
        ("rounds", None),
        ("rounds", "none"),
        ("weight", "nan"),
        ("weight", "inf"),
        ("weight", [1.0]),
        ("share", float("inf")),
        ("limit", "x"),
        ("order", "weight"),
        ("level", "3"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name, given):
    with pytest.raises(OptionError, match=f"acme: option {name} cannot be"):
        make_options("acme", Options, {name: given})


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(OptionError, match=r"acme: no option 'sprad'; there are: level, limit, .*, weight"):
        make_options("acme", Options, {"sprad": True})


def test_what_the_class_refuses_is_an_option_error():
    @attrs.frozen(kw_only=True)
    class Strict:
        rounds: int = attrs.field(default=1, validator=attrs.validators.ge(1))

    with pytest.raises(OptionError, match=r"acme: .*rounds.*"):
        make_options("acme", Strict, {"rounds": 0})


def test_defaults_read_back_from_text():
    defaults = Options()
    text = {field.name: str(getattr(defaults, field.name)) for field in attrs.fields(Options)}
    assert make_options("acme", Options, text) == defaults
