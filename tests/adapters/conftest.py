"""Engines of all tests start as on a machine that was prepared: their JVMs find their classes in an archive."""

from __future__ import annotations

import contextlib
import fcntl
import functools

from headgate.engines.cache import cache_folder
from headgate.errors import EngineError


def pytest_runtest_setup(item):
    if item.get_closest_marker("spark"):
        prepare_spark()
    if item.get_closest_marker("storm"):
        prepare_storm()


@functools.cache
def prepare_spark():
    with contextlib.suppress(EngineError, ImportError), one_process():
        from headgate_spark.driver.jar import spark_home
        from headgate_spark.driver.jvm import make_class_data

        make_class_data(spark_home())


@functools.cache
def prepare_storm():
    with contextlib.suppress(EngineError, ImportError), one_process():
        from headgate_storm.local.cds_training import make_class_data
        from storm_cluster import RELEASE

        make_class_data(RELEASE)


@contextlib.contextmanager
def one_process():
    """While one of the processes that share the tests makes an archive, the others wait for it."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
