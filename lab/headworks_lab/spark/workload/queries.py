"""Nexmark's queries 1 to 5, 7, 8 and 11: from a DataFrame of events, as a batch or as a stream, to one of answers.

The questions are those of the specification (Tucker, Tufte, Papadimos, Maier: NEXMark, 2010), query 11 that of Apache
Beam's suite, which also has the windows of ten seconds that are used here. Events have the columns of
`headworks_lab.spark.workload.events.SCHEMA`; a stream of them has a watermark on `time`, and is written in the mode
append: an answer comes when the watermark says that no event can change it any more.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from headworks_lab.nexmark import EventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

EURO = 0.908
"""Euros of a dollar, as the specification has it."""
EVERY = 123
"""Query 2 selects every so many-th auction, as Beam's suite does: the specification's five ids are few bids."""
NEAR = ("OR", "ID", "CA")
CATEGORY = 10
"""States of the sellers, and category, of query 3."""
WINDOW, SLIDE, GAP = "10 seconds", "2 seconds", "10 seconds"
"""Length of windows, seconds from one to the next of query 5, and the pause that ends a session."""


def queries(longest: int) -> Mapping[str, Callable[[DataFrame], DataFrame]]:
    """The queries by name.

    Args:
        longest: Bound on the length of an auction in ms.
    """
    return {
        "q1": q1,
        "q2": q2,
        "q3": q3,
        "q4": functools.partial(q4, longest=longest),
        "q5": q5,
        "q7": q7,
        "q8": q8,
        "q11": q11,
    }


def q1(events: DataFrame) -> DataFrame:
    """Currency conversion: `auction`, `bidder`, `price` in cents of a euro, and `time` of each bid.

    Args:
        events: A batch or a stream.
    """
    return bids(events).select("auction", "bidder", (fn.col("price") * EURO).alias("price"), "time")


def q2(events: DataFrame) -> DataFrame:
    """Selection: `auction` and `price` of the bids for every 123rd auction.

    Args:
        events: A batch or a stream.
    """
    return bids(events).where(fn.col("auction") % EVERY == 0).select("auction", "price")


def q3(events: DataFrame) -> DataFrame:
    """Local item suggestion: `name`, `city` and `state` of who sells in OR, ID or CA, and the `id` of the auction.

    A stream keeps all people and auctions that pass the filters as its state, for ever: whoever registered may sell at
    any time, and the specification joins all of them.

    Args:
        events: A batch or a stream.
    """
    near = persons(events).where(fn.col("state").isin(*NEAR)).withColumnRenamed("id", "person")
    sold = auctions(events).where(fn.col("category") == CATEGORY).select("id", "seller")
    return sold.join(near, fn.expr("seller = person")).select("name", "city", "state", "id")


def q4(events: DataFrame, longest: int) -> DataFrame:
    """Average price for a category: `category`, and the `average` in cents of the winning bids for its auctions.

    The winning bid is the highest from the auction's begin on and before its end. A batch has one row for a category,
    with the auctions that are open at its end. A stream has none: Spark refuses an average of all auctions after a
    join, in every mode. It averages the auctions that began in the same ten seconds, from `start` on, once all of them
    have ended, as Beam's suite averages windows too.

    Args:
        events: A batch or a stream.
        longest: Bound on the length of an auction in ms, after which a stream forgets it.
    """
    opened = auctions(events).select("id", "category", "expires", fn.col("time").alias("opened"))
    made = bids(events).select("auction", "price", fn.col("time").alias("made"))
    within = f"auction = id AND made >= opened AND made < expires AND made <= opened + INTERVAL {longest} MILLISECONDS"
    won = opened.join(made, fn.expr(within)).groupBy("id", "category", "opened").agg(fn.max("price").alias("price"))
    average = fn.avg("price").alias("average")
    if not events.isStreaming:
        return won.groupBy("category").agg(average)
    found = won.groupBy("category", fn.window("opened", WINDOW)).agg(average)
    return found.select("category", fn.col("window.start").alias("start"), "average")


def q5(events: DataFrame) -> DataFrame:
    """Hot items: the `auction` with most `bids` in the ten seconds from `start` on, every two seconds.

    All auctions that share the first place are there. A stream counts and compares in one query, as two operators with
    state, one after the other.

    Args:
        events: A batch or a stream.
    """
    counts = bids(events).groupBy(fn.window("time", WINDOW, SLIDE), "auction").agg(fn.count("*").alias("bids"))
    each = fn.collect_list(fn.struct("auction", "bids")).alias("each")
    windows = counts.groupBy("window").agg(each, fn.max("bids").alias("top"))
    most = fn.explode(fn.expr("filter(each, one -> one.bids = top)")).alias("most")
    return windows.select(fn.col("window.start").alias("start"), most).select("start", "most.*")


def q7(events: DataFrame) -> DataFrame:
    """Highest bid: `auction`, `bidder`, `price` in cents, and `time` of the highest bid in each ten seconds.

    All bids of the highest price are there. The specification joins bids with the highest price of their window; here
    the bids of a price are a group, and a window takes the highest of its groups: a join would keep each bid as well.

    Args:
        events: A batch or a stream.
    """
    bid = fn.struct("auction", "bidder", "price", "at")
    made = bids(events).withColumn("at", fn.col("time"))  # the group's time is that of its window
    prices = made.groupBy(fn.window("time", WINDOW), "price").agg(fn.collect_list(bid).alias("bids"))
    highest = prices.groupBy("window").agg(fn.max_by("bids", "price").alias("bids"))
    return highest.select(fn.explode("bids").alias("bid")).select("bid.*").withColumnRenamed("at", "time")


def q8(events: DataFrame) -> DataFrame:
    """Monitor new users: `id` and `name` of who registered and sold in the same ten seconds, which begin at `start`.

    Args:
        events: A batch or a stream.
    """
    new = persons(events).select("id", "name", fn.window("time", WINDOW).alias("window"))
    sold = auctions(events).select("seller", fn.window("time", WINDOW).alias("sold"))
    both = new.join(sold, fn.expr("id = seller AND window = sold")).groupBy("id", "name", "window").count()
    return both.select("id", "name", fn.col("window.start").alias("start"))


def q11(events: DataFrame) -> DataFrame:
    """User sessions: `bidder`, number of `bids`, `start` and `end` of each session, which a pause of ten seconds ends.

    `end` is ten seconds after the last bid.

    Args:
        events: A batch or a stream.
    """
    sessions = bids(events).groupBy("bidder", fn.session_window("time", GAP).alias("session"))
    return sessions.agg(fn.count("*").alias("bids")).select("bidder", "bids", "session.*")


def persons(events: DataFrame) -> DataFrame:
    """The people among events, with `time`."""
    return _only(events, EventKind.PERSON)


def auctions(events: DataFrame) -> DataFrame:
    """The auctions among events, with `time`."""
    return _only(events, EventKind.AUCTION)


def bids(events: DataFrame) -> DataFrame:
    """The bids among events, with `time`."""
    return _only(events, EventKind.BID)


def _only(events: DataFrame, kind: EventKind) -> DataFrame:
    return events.where(fn.col("kind") == int(kind)).select("time", f"{kind.name.lower()}.*")
