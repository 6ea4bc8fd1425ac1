"""Mappings that cannot change after they were made."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(dict[K, V]):
    """A dict that refuses every change: it stays a JSON object, a pickle and an equal of its plain twin."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed: build a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict.__repr__(self)})"


class Resources(FrozenMap[str, float]):
    """Named amounts of what a task needs or a node has.

    `cpu` is in points (100 = one core of the reference unit, paper D-Storm, section 5.3.1), `memory` in MB;
    any further name is an amount in its own unit. A name that is absent means zero.
    """

    @property
    def cpu(self) -> float:
        """CPU in points."""
        return self.get("cpu", 0.0)

    @property
    def memory(self) -> float:
        """Memory in MB."""
        return self.get("memory", 0.0)
