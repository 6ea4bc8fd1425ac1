"""Fixtures for authors of plugins; loaded by pytest through the entry point `headgate`, so it imports nothing heavy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate.plugins.host import PluginHost
    from headgate.testing.cases import Cases


@pytest.fixture(scope="session")
def headgate_host() -> PluginHost:
    """Every installed plugin, loaded once."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headgate.plugins.host import PluginHost

    return PluginHost.load()


@pytest.fixture(scope="session")
def headgate_cases() -> Cases:
    """The seeded requests that `headgate conform` uses."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headgate.testing.cases import make_cases

    return make_cases()


@pytest.fixture(scope="session")
def headgate_remembering(headgate_cases: Cases) -> Callable[..., PluginHost]:
    """The twin of a host that asks a scheduler, with the options given, once for each of the seeded requests."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headgate.testing.memory import RememberingHost

    return functools.cache(lambda host, **options: RememberingHost(host, headgate_cases, options or None))
