"""One real cluster of three nodes of different size, and one placed session on it, for all tests of the adapter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from headworks_spark.local.cluster import LocalSpark, worker_specs
from patience import PATIENCE
from spark_sessions import end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
TYPES = {"127.0.0.2": "i5", "127.0.0.3": "pentium"}
"""Types of machines; the third node does not say its own."""
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "6",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "200",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.headworks.wait": "120s",
}
"""What Spark remembers for its pages is full after some minutes, so that memory can be seen to be flat. On a machine
that does much else, a node may be busy for longer than tasks wait for it by default."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup`, one process has all tests of the cluster of the session."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and {"cluster", "spark"} & set(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def cluster(java: None) -> Iterator[LocalSpark]:
    """A Master and three Workers on 127.0.0.2-4 with 4, 2 and 1 cores."""
    workers = tuple(attrs.evolve(each, machine_type=TYPES.get(each.host)) for each in worker_specs((4, 2, 1)))
    with LocalSpark(workers, timeout=PATIENCE) as local:
        yield local


@pytest.fixture(scope="session")
def spark(cluster: LocalSpark) -> Iterator[SparkSession]:
    """The one session of this process, at level hard, with an executor on every host, and its usage measured."""
    from headworks_spark import session

    spark = session(cluster.master_url, hosts=HOSTS, usage=True, **SETTINGS)
    yield spark
    end(spark)
