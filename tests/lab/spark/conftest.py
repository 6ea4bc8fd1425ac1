"""One real cluster of two nodes, and one session on it, for all tests of queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from headworks_spark.local.cluster import LocalSpark, worker_specs
from patience import PATIENCE
from spark_sessions import end

SETTINGS = {"spark.sql.shuffle.partitions": "6", "spark.headworks.wait": "120s"}
"""On a machine that does much else, a node may be busy for longer than tasks wait for it by default."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """With `--dist loadgroup`, one process has all tests of the session."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("lab-spark"))


@pytest.fixture(scope="package")
def spark(java):
    """The one session of this process."""
    from headworks_spark import session

    workers = worker_specs((2, 1))
    with LocalSpark(workers, timeout=PATIENCE) as local:
        spark = session(local.master_url, hosts=[each.host for each in workers], **SETTINGS)
        yield spark
        end(spark)
