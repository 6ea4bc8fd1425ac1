"""Tasks that an executor runs at once: cores and other resources over what a task of its profile asks of them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = 0
"""Id of the resource profile that an application's own settings make."""
CPUS = "cpus"
"""Spark's name of cores among the resources of a task."""
AMOUNT = re.compile(r"spark\.task\.(?:resource\.(.+)\.amount|(cpus))")
"""Settings that say how much of a resource, or of cores, a task takes."""


@attrs.define
class TaskNeeds:
    """What a task takes of each resource, by profile, as far as the events of a log have told."""

    _of: dict[int, dict[str, float]] = attrs.field(factory=dict)

    def hear(self, document: Mapping[str, Any]) -> None:
        """Take in an event of settings or of a profile; others say nothing of it.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: It is not as Spark writes it.
        """
        if document["Event"] == "SparkListenerEnvironmentUpdate":
            self._of.setdefault(DEFAULT, {}).update(task_needs(dict(document["Spark Properties"])))
        elif document["Event"] == "SparkListenerResourceProfileAdded":
            asked = document["Task Resource Requests"]
            needs = {name: float(each["Amount"]) for name, each in asked.items()}
            self._of[int(document["Resource Profile Id"])] = needs

    def cpus(self, profile: int) -> int:
        """Cores that a task of a profile takes."""
        return _whole(self._of.get(profile, {}))

    def slots(self, profile: int, cores: int, resources: Mapping[str, Any]) -> int:
        """Tasks of a profile that an executor runs at once, one at least: it would not be there for none.

        Args:
            resources: Its other resources by name, each with the `addresses` of its units.
        """
        units = {name: len(each["addresses"]) for name, each in resources.items()}
        return max(slots(self._of.get(profile, {}), cores, units), 1)


def task_needs(settings: Mapping[str, str]) -> dict[str, float]:
    """What a task takes of each resource, by the settings of an application.

    Raises:
        ValueError: An amount is not a number.
    """
    named = ((AMOUNT.fullmatch(name), value) for name, value in settings.items())
    return {found[1] or found[2]: float(value) for found, value in named if found}


def slots(needs: Mapping[str, float], cores: int, units: Mapping[str, int]) -> int:
    """Tasks that an executor has room for at once.

    Args:
        needs: What a task takes of each resource; of cores one where nothing is said.
        units: Units of the executor's other resources.
    """
    most = [cores // _whole(needs)]
    for name, amount in needs.items():
        if name in units and amount > 0:
            # A task takes whole units, or a part of one.
            most.append(int(units[name] // amount) if amount >= 1 else units[name] * math.floor(1 / amount))
    return min(most)


def _whole(needs: Mapping[str, float]) -> int:
    return max(int(needs.get(CPUS, 1)), 1)
