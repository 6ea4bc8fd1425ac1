"""The settings of the control loop as one table, for the command line, TOML files and programs.

A setting is a field of an attrs class with `help` in its metadata. More metadata where it is needed: `name`, if it is
not called as the field; `least`, `above` and `most`, its bounds; `takes`, its values in words, and its `metavar`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import attrs

from headworks.plugins.options import describe, text_converter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Pace:
    """Schedule of the control loop: its period and its end."""

    interval: float = attrs.field(default=60.0, metadata={"help": "Seconds between rounds.", "least": 0})
    rounds: int | None = attrs.field(
        default=None, metadata={"help": "Stop after so many rounds; endless by default.", "least": 1}
    )
    replan: bool = attrs.field(
        default=False, metadata={"help": "Plan in every round, whatever the scheduler's analysis says."}
    )


@attrs.frozen(kw_only=True)
class Setting:
    """One row of the table.

    Attributes:
        name: An identifier; the option `--min-gain` is the setting `min_gain`.
        kind: The type of its values.
        help: One sentence.
        bounds: The bounds of a number in words, "" without any.
        takes: Its values in words, where the type does not say them; `metavar` stands for one in a line of help.
    """

    name: str
    kind: Any
    default: Any
    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    takes: str = ""
    metavar: str | None = None

    @property
    def bounds(self) -> str:
        """The bounds of a number in words, "" without any."""
        words = (("at least", self.least), ("more than", self.above), ("at most", self.most))
        return " and ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)

    def convert(self, value: Any) -> Any:
        """The value that text, or a plain value of a TOML file, stands for.

        Raises:
            ValueError: It does not fit.
        """
        try:
            made = text_converter().structure(value, self.kind)
        except Exception:  # noqa: BLE001 - whatever a conversion raises means that the value does not fit
            fits = False
        else:
            fits = made is None or self._is_within(made)
        if not fits:
            bounds = f", {self.bounds}" if self.bounds else ""
            raise ValueError(f"{value!r} is not {self.takes or describe(self.kind)}{bounds}")
        return made

    def _is_within(self, value: Any) -> bool:
        if isinstance(value, Path):
            return value.exists()
        if isinstance(value, float) and not math.isfinite(value):
            return False
        return not (
            (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
        )


def settings_of(*kinds: type) -> tuple[Setting, ...]:
    """The table of some attrs classes, and of the classes of their fields."""
    return tuple(setting for kind in kinds for setting in _settings(kind))


def _settings(kind: type) -> Iterator[Setting]:
    for field, hint in _fields(kind):
        if "help" in field.metadata:
            yield Setting(**{"name": field.name, **field.metadata}, kind=hint, default=field.default)
        elif attrs.has(hint):
            yield from _settings(hint)


def _fields(kind: type) -> Iterator[tuple[Any, Any]]:
    hints = get_type_hints(kind)
    return ((field, hints[field.name]) for field in attrs.fields(kind))


def make(kind: type[T], values: Mapping[str, Any], **more: Any) -> T:
    """An instance of an attrs class with settings: what `values` leaves out is the default.

    Args:
        kind: The class; the settings of its fields' classes count too.
        values: Values that `Setting.convert` made, by the setting's name; those of other classes are passed over.
    """
    for field, hint in _fields(kind):
        name = field.metadata.get("name", field.name)
        if "help" in field.metadata and name in values:
            more[field.name] = values[name]
        elif "help" not in field.metadata and field.name not in more and attrs.has(hint):
            more[field.name] = make(hint, values)
    return kind(**more)
