"""Sessions that a user's program starts by itself, given Headworks's task scheduler as spark-submit would give it."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import attrs

from headworks_local.lifetime import bound
from headworks_spark.driver.gateway import completing, ignore_end_of_jvm, own_handler
from headworks_spark.driver.jar import PLACEMENT
from headworks_spark.driver.secret import secret_settings
from headworks_spark.driver.session import HANDED_ON, behind, near

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = logging.getLogger("headworks.spark")
SUBMIT = "PYSPARK_SUBMIT_ARGS"
"""Variable with the options of spark-submit by which PySpark starts a driver's JVM, and then `SHELL`."""
SHELL = "pyspark-shell"
MASTER = "spark.master"
QUIET = ("--conf", "spark.ui.showConsoleProgress=false")
"""PySpark draws bars on the terminal, as a shell does, and spark-submit does not."""


@attrs.frozen(kw_only=True)
class Launch:
    """What each session of a program is given.

    Attributes:
        master: Master URL.
        jar: Path of the jar with the task scheduler.
        words: Options of spark-submit, such as `--conf`, as they were typed.
    """

    master: str
    jar: str
    words: tuple[str, ...] = ()

    def complete(self, conf: Any) -> None:
        """Add to the settings of a session, as it is about to start, what places its tasks.

        Args:
            conf: A SparkConf of the JVM; what the program and its launcher set stays, but for the master.
        """
        if (asked := conf.get(MASTER, self.master)) != self.master:
            LOG.warning(
                "%s=%s of the application is not honoured: its session runs on %s (--master names another cluster)",
                *(MASTER, asked, self.master),
            )
        conf.set(MASTER, self.master)
        for name, own in (("spark.plugins", PLACEMENT), ("spark.jars", self.jar)):
            named = [each for each in conf.get(name, "").split(",") if each]
            conf.set(name, ",".join(dict.fromkeys((*named, own))))  # a program may start two sessions with one conf
        for name, value in (HANDED_ON | near(self.master) | secret_settings(self.master)).items():
            conf.setIfMissing(name, value)

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """The environment in which a driver's JVM is started."""
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        before = os.environ.get(SUBMIT)
        own = [each for each in shlex.split(before or "") if each != SHELL]
        os.environ[SUBMIT] = shlex.join([*QUIET, *own, "--master", self.master, *self.words, SHELL])
        try:
            # A JVM that is started in this block has the reaper's mark, and ends with this process.
            with behind(self.jar), bound():
                yield
        finally:
            os.environ.pop(SUBMIT)
            if before is not None:
                os.environ[SUBMIT] = before


@contextlib.contextmanager
def launching(launch: Launch) -> Iterator[None]:
    """Give each session that this process starts in the block what a launch says."""
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from pyspark import SparkContext

    start: Any = SparkContext.__init__

    @functools.wraps(start)
    def started(self: Any, *words: Any, **more: Any) -> None:
        with launch.environment(), own_handler():
            start(self, *words, **more)
        ignore_end_of_jvm(self)

    kind: Any = SparkContext
    kind.__init__ = started
    try:
        with completing(launch.complete):
            yield
    finally:
        kind.__init__ = start
