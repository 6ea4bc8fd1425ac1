"""The driver of a session, in the way that it can be reached."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineEndedError
from headworks_spark.driver.classic import Classic
from headworks_spark.driver.connect import Connect, is_connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks_spark.driver.driver import Driver

LOG = logging.getLogger("headworks.spark")


def driver_of(spark: Any) -> Driver:
    """The driver of a session: of a classic one over py4j, of a Connect session by the plugins of its server."""
    return Connect(spark) if is_connect(spark) else Classic(spark)


@contextlib.contextmanager
def ending_with_driver(spark: Any) -> Iterator[None]:
    """Tell the end of a session's driver from other failures of the block.

    Raises:
        EngineEndedError: The block failed, and the session was stopped, or the driver does not answer any more.
    """
    driver = driver_of(spark)
    try:
        yield
    except EngineEndedError:
        raise
    except driver.failures as error:
        if driver.stopped():
            raise EngineEndedError("the session has ended") from error
        if driver.answers():
            raise
        LOG.warning("the driver's JVM is gone, and with it all followed queries")
        raise EngineEndedError(f"the driver's JVM is gone ({type(error).__name__})") from error
