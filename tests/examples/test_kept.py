"""A scheduler's package that was built against 0.1.0: every later Headworks loads it, and lets it plan.

Until 0.1.0 is released, `python -m hatchling build -t wheel -d ../../tests/examples/kept` in the folder of the example
makes it anew. From then on it stays as it is.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from shell import headworks

KEPT = Path(__file__).with_name("kept") / "acme_scheduler-1.0.0-py3-none-any.whl"


@pytest.fixture
def path(tmp_path):
    """The package as an installer lays it out: its module, and its metadata with the entry point."""
    with zipfile.ZipFile(KEPT) as wheel:
        wheel.extractall(tmp_path)
    return {"PYTHONPATH": str(tmp_path)}


def test_it_is_found_by_its_entry_point(path):
    found = headworks("plugins", "acme", "--json", **path)
    assert found.returncode == 0, found.stderr
    assert [each["name"] for each in json.loads(found.stdout)] == ["resource", "spread"]


def test_it_plans_with_its_options(path):
    plans = []
    for spread in ("true", "false"):
        done = headworks("plan", "dstorm:linear", "-s", "acme", "-o", f"spread={spread}", "--json", **path)
        assert done.returncode == 0, done.stderr
        plans.append(json.loads(done.stdout))
    assert [each["status"] for each in plans] == ["ok", "ok"]
    assert plans[0]["assignment"].keys() == plans[1]["assignment"].keys() != set()
    assert plans[0]["assignment"] != plans[1]["assignment"]


@pytest.mark.slow
def test_it_conforms(path):
    done = headworks("conform", "acme", "--json", **path)
    assert done.returncode == 0, done.stderr
    assert {row["status"] for row in json.loads(done.stdout)["rules"]} == {"ok", "skipped"}
