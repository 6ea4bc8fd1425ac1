"""Names of components for the model: Storm takes any text as one, also an empty one or one that cannot be shown.

A name that is no id for the model would be a fault of the whole request, and one topology would stop the rounds of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.model.validate import is_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def shown(names: Iterable[str]) -> dict[str, str]:
    """The model's name for each of Storm's: the same where it is an id, otherwise one that is nobody else's.

    Args:
        names: Names of the components of a topology, in an order that is the same each time.
    """
    names = list(names)
    found = {name: name for name in names if is_id(name)}
    taken = set(found.values())
    for name in names:
        if name not in found:
            found[name] = _unlike(_escaped(name), taken)
            taken.add(found[name])
    return found


def renamed(components: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Components of a round by the names of the model; inputs from components that are not there are left out.

    Args:
        components: As Nimbus tells them.
        names: The model's name by Storm's.
    """
    return [
        {
            **each,
            "id": names[each["id"]],
            "inputs": [(names[source], *rest) for source, *rest in each["inputs"] if source in names],
        }
        for each in components
    ]


def _escaped(name: str) -> str:
    return "".join(each if is_id(each) else f"\\u{ord(each):04x}" for each in name) or "\\"


def _unlike(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "\\"
    return name
