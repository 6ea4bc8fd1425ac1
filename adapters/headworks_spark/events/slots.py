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
            for name, value in dict(document["Spark Properties"]).items():
                if found := AMOUNT.fullmatch(name):
                    self._of.setdefault(DEFAULT, {})[found[1] or found[2]] = float(value)
        elif document["Event"] == "SparkListenerResourceProfileAdded":
            asked = document["Task Resource Requests"]
            needs = {name: float(each["Amount"]) for name, each in asked.items()}
            self._of[int(document["Resource Profile Id"])] = needs

    def cpus(self, profile: int) -> int:
        """Cores that a task of a profile takes."""
        return max(int(self._of.get(profile, {}).get(CPUS, 1)), 1)

    def slots(self, profile: int, cores: int, resources: Mapping[str, Any]) -> int:
        """Tasks of a profile that an executor runs at once, one at least: it would not be there for none.

        Args:
            resources: Its other resources by name, each with the `addresses` of its units.
        """
        most = [cores // self.cpus(profile)]
        for name, amount in self._of.get(profile, {}).items():
            if name in resources and amount > 0:
                units = len(resources[name]["addresses"])
                # A task takes whole units, or a part of one.
                most.append(int(units // amount) if amount >= 1 else units * math.floor(1 / amount))
        return max(min(most), 1)
