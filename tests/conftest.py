"""How long Hypothesis searches, which tests need which engine, that Ctrl-C works in every test, and what several
processes that share the tests keep together.

`HYPOTHESIS_PROFILE` is `default` or `thorough`. A test that needs something that is not installed is skipped and names
it (`needs ...`); where `CI` is set, everything has to be there, and that is an error.
"""

from __future__ import annotations

import functools
import os
import re
import signal

import pytest
from hypothesis import settings

from headworks.errors import EngineError
from headworks_local.java import find_java

# a failure prints how to see its example again; the many examples of cheap rules are the same in every run
settings.register_profile("default", max_examples=10, deadline=None, print_blob=True)
settings.register_profile("cheap", max_examples=40, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", max_examples=500, deadline=None, print_blob=True)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)

# a run that was started in the background ignores Ctrl-C, and so would every process that a test starts; nohup likewise
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

LONGEST = (
    "spark",
    "storm",
    "pipeline",
    "adapters/spark/test_demo.py",
    "storm-asking",
    "storm-seats",
    "adapters/storm/test_demo.py",
    "storm-manager",
    "adapters/storm/test_serve.py",
    "adapters/spark/test_soft.py",
    "adapters/spark/test_jar.py",
    "adapters/storm/test_maven.py",
)
"""Groups that take minutes, the longest first: begun early, none of them is what the other processes wait for."""


BY_CLASS = "contract/test_schedulers.py"
"""A file whose classes share nothing: each is a group."""


@pytest.hookimpl(tryfirst=True)  # xdist writes the group into the name of a test in the same hook
def pytest_collection_modifyitems(config, items):
    """With `--dist loadgroup`, tests of one shared cluster are one group, and every other file is one of its own."""
    here, places = config.rootpath / "tests", {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        group = mark.args[0] if mark else os.path.relpath(item.path, here)
        if group == BY_CLASS:
            group = f"{group}::{item.cls.__name__ if item.cls else ''}"
        if mark is None:
            item.add_marker(pytest.mark.xdist_group(group))
        places[item] = LONGEST.index(group) if group in LONGEST else len(LONGEST)
    items.sort(key=places.get)


CHEAP = (
    *("tests/sdk/model", "tests/sdk/problem", "tests/sdk/toolbox"),
    *("tests/adapters/storm", "tests/plugins/priority", "tests/plugins/baselines/test_order.py"),
    *("tests/plugins/baselines/test_even.py", "tests/plugins/baselines/test_proximity.py"),
)
"""Where 40 examples of each rule take a few seconds; those of a whole scheduler would take minutes."""
ENGINES = {"spark": ("pyspark",), "storm": ("py4j", "jgo")}
"""Modules that the tests of an engine need beside Java, by their marker."""
EXTRAS = {
    *("alembic", "confluent_kafka", "duckdb", "jgo", "obstore", "ortools", "psycopg"),
    *("py4j", "pyarrow", "pyroute2", "pyspark", "sqlalchemy", "starlette", "uvicorn"),
}
"""Modules of our extras: a file of tests that imports one is skipped where it is not installed."""
NOT_INSTALLED = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
MISSING = ("needs ", "could not import ")
"""Begin the reasons of skips for want of a tool; the second is that of `pytest.importorskip`."""


@functools.cache
def java_problem() -> str:
    """What is wrong with the Java of this machine, "" if nothing is."""
    try:
        find_java(17)
    except EngineError as error:
        return f"needs a Java runtime: {error}"
    return ""


def need_java() -> None:
    if problem := java_problem():
        pytest.skip(problem)


@pytest.fixture(scope="session")
def java() -> None:
    """For tests that start Java and no engine."""
    need_java()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Cheap rules have more examples than those of whole schedulers."""
    if PROFILE == "default" and isinstance(collector, pytest.Module):
        settings.load_profile("cheap" if collector.nodeid.startswith(CHEAP) else "default")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, modules in ENGINES.items():
        if item.get_closest_marker(marker):
            for name in modules:
                pytest.importorskip(name)
            need_java()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return as_error((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    missing = NOT_INSTALLED.search(str(report.longrepr)) if report.failed else None
    if missing and missing[1] in EXTRAS:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 1, f"Skipped: needs {missing[1]}")
    return as_error(report)


def as_error(report):
    """The report of a skip for want of a tool as that of a failure where `CI` is set."""
    if os.environ.get("CI") and report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason.startswith(MISSING):
            report.outcome, report.longrepr = "failed", f"{reason}; CI is set, so that it has to be there"
    return report
