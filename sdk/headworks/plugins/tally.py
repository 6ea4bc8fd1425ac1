"""Totals of the plugins of a host: plans and their seconds, and errors."""

from __future__ import annotations

import threading
from collections import Counter


class PluginTally:
    """Counts for one host; every method may be called by any thread."""

    def __init__(self) -> None:
        self._errors: Counter[tuple[str, str]] = Counter()
        self._plans: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def failed(self, name: str, hook: str) -> None:
        """Count an error of a plugin."""
        with self._lock:
            self._errors[name, hook] += 1

    def planned(self, name: str, seconds: float) -> None:
        """Count a plan of a scheduler."""
        with self._lock:
            self._plans[name] += 1
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def errors(self) -> dict[tuple[str, str], int]:
        """Number of errors by plugin and hook."""
        with self._lock:
            return dict(sorted(self._errors.items()))

    def plans(self) -> dict[str, tuple[int, float]]:
        """Number of plans by scheduler, and the seconds that they took, checks included."""
        with self._lock:
            return {name: (count, self._seconds[name]) for name, count in sorted(self._plans.items())}
