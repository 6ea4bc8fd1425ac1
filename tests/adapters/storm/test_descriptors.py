"""The service has as many file descriptors as its user may have, and keeps some of them from workers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headworks_storm.peers.server import RESERVE, places

CODE = "from headworks_storm.peers.server import raise_limit; print(raise_limit())"


@pytest.mark.parametrize(("soft", "hard"), [(512, 1024), (1024, 1024), (256, 4096)])
def test_the_limit_is_raised_to_the_hard_one(soft: int, hard: int) -> None:
    shell = (
        f"ulimit -Sn {soft} && ulimit -Hn {hard} && {sys.executable} -c '{CODE}; import os; os.system(\"ulimit -n\")'"
    )
    said = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(hard), str(hard)]


def test_workers_get_what_is_not_kept() -> None:
    assert places(1024, 20_000) == 1024 - RESERVE
    assert places(1_000_000, 20_000) == 20_000
    assert places(64, 20_000) == 1
