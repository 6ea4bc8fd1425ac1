"""Fixtures for authors of plugins: pytest loads them through the entry point `headworks`; it imports nothing heavy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.plugins.host import PluginHost
    from headworks.testing.instances.cases import Cases


@pytest.fixture(scope="session")
def headworks_host() -> PluginHost:
    """Every installed plugin, loaded once."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headworks.plugins.host import PluginHost

    return PluginHost.load()


@pytest.fixture(scope="session")
def headworks_cases() -> Cases:
    """The seeded requests that `headworks conform` uses."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headworks.testing.instances.cases import make_cases

    return make_cases()


@pytest.fixture(scope="session")
def headworks_caching_host(headworks_cases: Cases) -> Callable[..., PluginHost]:
    """The twin of a host that asks a scheduler, with the options given, once for each of the seeded requests."""
    # pytest loads this module in every project: numpy and the core cost 0.2 s.
    from headworks.testing.caching import CachingHost

    return functools.cache(lambda host, **options: CachingHost(host, headworks_cases, options or None))
