"""Signals at random moments of what starts Spark: no process is left.

`HEADWORKS_SIGNALS=50` sends each signal fifty times to each command (`tox run -e signals`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from caches import own_cache
from moments import ended, moments

APPLICATION = Path(__file__).parents[3] / "examples" / "spark" / "word_count.py"
LOOP = ("-s", "even", "-o", "rebalance=yes", "--window", "1", "--interval", "0")
COMMANDS = {
    "demo": ("demo",),
    "run": ("run", "--engine", "spark", *LOOP, APPLICATION),
    "up": ("spark", "up", "--workers", "2,1"),
    "yarn": ("yarn", "up", "--nodes", "1"),
}
DOWN = {"up": ("spark", "down"), "yarn": ("yarn", "down")}
MOST = {"demo": 60.0, "run": 40.0, "up": 10.0}
MOST_YARN = {"yarn": 15.0}
"""Seconds within which a signal comes: longer ones find the same state again."""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("name", "number", "moment"), moments(MOST))
def test_nothing_is_left_whenever_a_signal_comes(java, tmp_path, name, number, moment):
    leaves_nothing(tmp_path, name, number, moment)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(("name", "number", "moment"), moments(MOST_YARN))
def test_nothing_is_left_of_a_yarn_whenever_a_signal_comes(java, tmp_path, name, number, moment):
    pytest.importorskip("jgo")
    leaves_nothing(tmp_path, name, number, moment)


def leaves_nothing(folder, name, number, moment):
    end = ended(
        *COMMANDS[name], folder=folder, number=number, moment=moment, down=DOWN.get(name, ()), **own_cache(folder)
    )
    assert end.clean, end
