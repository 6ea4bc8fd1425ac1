"""Options of a plugin: from text or plain values to its attrs class."""

from __future__ import annotations

import re
from typing import Literal

import attrs
import pytest

from headworks.errors import OptionError
from headworks.model import Kind
from headworks.plugins.options import make_options


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
    kind: Kind = Kind.BOLT
    racks: tuple[str, ...] = ()
    sizes: tuple[int, ...] | None = None


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
        ("kind", "spout", Kind.SPOUT),
        ("racks", "a, b", ("a", "b")),
        ("racks", "", ()),
        ("racks", ["a", "b"], ("a", "b")),
        ("sizes", "1,2", (1, 2)),
        ("sizes", "None", None),
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
        ("level", True),
        ("name", True),
        ("name", ["x"]),
        ("name", None),
        ("kind", "tap"),
        ("racks", 5),
        ("sizes", "1,x"),
        ("sizes", [1, 2.5]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name, given):
    with pytest.raises(OptionError, match=f"acme: option {name} cannot be"):
        make_options("acme", Options, {name: given})


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("rounds", "many", "option rounds cannot be 'many'; it takes a whole number"),
        ("limit", 0.5, "option limit cannot be 0.5; it takes a whole number or none"),
        ("spread", "perhaps", "option spread cannot be 'perhaps'; it takes true or false"),
        ("order", "weight", "option order cannot be 'weight'; it takes size | traffic"),
        ("kind", "tap", "option kind cannot be 'tap'; it takes spout | bolt"),
        ("sizes", "x", "option sizes cannot be 'x'; it takes a list, each a whole number or none"),
    ],
)
def test_a_refusal_says_what_the_option_takes(name, given, words):
    with pytest.raises(OptionError, match=re.escape(words)):
        make_options("acme", Options, {name: given})


def test_a_missing_option_is_named():
    @attrs.frozen(kw_only=True)
    class Needed:
        rounds: int

    with pytest.raises(OptionError, match="acme: option rounds is missing; it takes a whole number"):
        make_options("acme", Needed, {})


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(OptionError) as caught:
        make_options("acme", Options, {"sprad": True})
    assert str(caught.value).startswith("acme: no option 'sprad', did you mean spread? there are: kind, level, limit, ")


def test_what_the_class_refuses_is_an_option_error():
    @attrs.frozen(kw_only=True)
    class Strict:
        rounds: int = attrs.field(default=1, validator=attrs.validators.ge(1))
        rule: str = attrs.field(default="a", validator=attrs.validators.in_(("a", "b")))

    with pytest.raises(OptionError, match=r"^acme: 'rounds' must be >= 1: 0$"):
        make_options("acme", Strict, {"rounds": 0})
    with pytest.raises(OptionError, match=r"^acme: 'rule' must be in"):
        make_options("acme", Strict, {"rule": "c"})


def test_defaults_read_back_from_text():
    defaults = Options()
    text = {field.name: str(getattr(defaults, field.name)) for field in attrs.fields(Options)} | {"racks": ""}
    assert make_options("acme", Options, text) == defaults
