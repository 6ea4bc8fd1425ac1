"""The demo's data set: departures of a year, and their division into feeds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.errors import EngineError, how_to_install

if TYPE_CHECKING:
    import pyarrow as pa

FILE = Path(__file__).with_name("flights.parquet")
"""The data; `flights.txt` beside it says where it comes from."""
FEEDS = 12
"""Tasks of each of the two components, and feeds: feed i is what task i of `feeds` reads. If larger than the
number of carriers, 16, some are empty; if smaller, there is less to place."""
DAYS = 365
"""Days of the year 2013, which is replayed again and again."""


@functools.cache
def flights() -> pa.Table:
    """The data set: columns `dest`, `carrier`, `arr_delay` (minutes, float) and `day` (0-364), ordered by day.

    Raises:
        EngineError: pyarrow is not installed.
    """
    try:
        # pyarrow is optional and costs 0.2 s; a list of commands imports this module and does not need it.
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise EngineError(f"pyarrow, which reads the flights, is not installed: {how_to_install('demo')}") from None
    schema = pa.schema({"dest": pa.string(), "carrier": pa.string(), "arr_delay": pa.float64(), "day": pa.int64()})
    return parquet.read_table(FILE).cast(schema)


def feeds_by_carrier(rows: dict[str, int]) -> dict[str, int]:
    """Give every carrier a feed: the largest first, each to the feed with the fewest rows so far.

    Returns:
        Feed of each carrier, 0 to 11.
    """
    load = [0] * FEEDS
    feeds = {}
    for carrier in sorted(rows, key=lambda each: (-rows[each], each)):
        feeds[carrier] = load.index(min(load))
        load[feeds[carrier]] += rows[carrier]
    return feeds
