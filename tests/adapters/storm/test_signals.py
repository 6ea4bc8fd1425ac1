"""Signals at random moments of what starts Storm, and of what serves it: no process is left.

`HEADWORKS_SIGNALS=50` sends each signal fifty times to each command (`tox run -e signals`).
"""

from __future__ import annotations

import pytest

from caches import own_cache
from moments import ended, moments
from storm_cluster import RELEASE

COMMANDS = {
    "demo": ("demo", "storm", "--version", RELEASE),
    "up": ("storm", "up", "--version", RELEASE),
    "serve": ("serve", "storm", "-s", "even", "--endpoint", "endpoint.json", "--collector", "127.0.0.1:0"),
}
MOST = {"demo": 60.0, "up": 15.0, "serve": 5.0}
"""Seconds within which a signal comes: longer ones find the same state again."""


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize(("name", "number", "moment"), moments(MOST))
def test_nothing_is_left_whenever_a_signal_comes(java, tmp_path, name, number, moment):
    down = ("storm", "down") if name == "up" else ()
    end = ended(*COMMANDS[name], folder=tmp_path, number=number, moment=moment, down=down, **own_cache(tmp_path))
    assert end.clean, end
    assert name != "serve" or end.code < 0 or not (tmp_path / "endpoint.json").exists()
