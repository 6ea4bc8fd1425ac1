"""The engine contract on engines whose daemons are real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headworks.testing.engines.rules import ENGINE_RULES
from patience import PATIENCE


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_spark_keeps_every_rule(java) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "spark_contract.py"]
    here = Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ENGINE_RULES)} passed" in done.stdout
