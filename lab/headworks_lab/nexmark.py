"""The Nexmark generator: events of an online auction, each computed from a seed and its number alone.

Schema and queries are those of the specification (Tucker, Tufte, Papadimos, Maier: NEXMark, 2010), numbers those of the
generator of Apache Beam's Nexmark suite: of 50 events one is a person, three are auctions, 46 are bids; half of the
bids go to one hot auction of each hundred, three quarters come from one hot bidder of each hundred people, and three
quarters of the auctions are a hot seller's; a few refer to people and auctions that come only soon after.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import attrs
import numpy as np
from attrs import validators as check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[np.int64] | NDArray[np.str_]]
    """Arrays of one length, by the name of the field."""

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Of `PERIOD` consecutive events, so many of each kind, in this order."""
PERIOD = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
"""Id of the first person and of the first auction."""
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTION, HOT_BIDDER, HOT_SELLER = 2, 4, 4
"""One bid in so many is for any open auction, or by any active person, and one auction in so many is sold by any."""
HOT_OF = 100
"""One person in so many is hot at a time, and one auction."""
OPEN = 100
"""Auctions before the last one that bids are for; the mean length of an auction is that of so many to come."""
ACTIVE = 1000
"""People who bid and sell: the last so many."""
LEAD = 10
"""People, or auctions, to come that an event may refer to."""
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
FIRST_NAMES = ("Ada", "Edsger", "Grace", "Barbara", "Donald", "Frances", "John", "Leslie", "Robin", "Tony")
LAST_NAMES = ("Allen", "Backus", "Dijkstra", "Hoare", "Hopper", "Knuth", "Lamport", "Liskov", "Lovelace", "Milner")
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class EventKind(enum.IntEnum):
    """Kind of an event."""

    PERSON = 0
    AUCTION = 1
    BID = 2


class _Draw(enum.IntEnum):
    """The random numbers of an event; each is a sequence of its own, so that none shifts another."""

    FIRST_NAME = 0
    LAST_NAME = 1
    CITY = 2
    STATE = 3
    HOT_SELLER = 4
    SELLER = 5
    CATEGORY = 6
    INITIAL = 7
    RESERVE = 8
    LENGTH = 9
    HOT_AUCTION = 10
    AUCTION = 11
    HOT_BIDDER = 12
    BIDDER = 13
    PRICE = 14


@attrs.frozen(kw_only=True)
class Nexmark:
    """The endless sequence of events of one seed, numbered from 0; any part of it can be made anywhere.

    Attributes:
        seed: Another seed is another sequence.
        rate: Events per second of event time.
        begin: Time of the first event, in ms since the epoch.
    """

    seed: int = 0
    rate: float = attrs.field(default=1000.0, validator=check.gt(0))
    begin: int = 1_436_918_400_000

    def times(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of events in ms since the epoch.

        Args:
            numbers: Of the events.
        """
        return self.begin + (numbers * (1e6 / self.rate)).astype(np.int64) // 1000

    @property
    def longest(self) -> int:
        """Bound on the length of an auction in ms."""
        return 2 * (int(_AHEAD * 1000 / self.rate) + 1)

    def persons(self, numbers: NDArray[np.int64]) -> Columns:
        """People: `id`, `name`, `city`, `state` and `time`.

        Args:
            numbers: Of events that are people.
        """
        first, last = (
            np.array(names)[self._below(len(names), numbers, draw)]
            for names, draw in ((FIRST_NAMES, _Draw.FIRST_NAME), (LAST_NAMES, _Draw.LAST_NAME))
        )
        return {
            "id": _last_person(numbers) + FIRST_ID,
            "name": np.char.add(np.char.add(first, " "), last),
            "city": np.array(CITIES)[self._below(len(CITIES), numbers, _Draw.CITY)],
            "state": np.array(STATES)[self._below(len(STATES), numbers, _Draw.STATE)],
            "time": self.times(numbers),
        }

    def auctions(self, numbers: NDArray[np.int64]) -> Columns:
        """Auctions: `id`, `seller`, `category`, `initial_bid` and `reserve` in cents, `time` and `expires` in ms.

        Args:
            numbers: Of events that are auctions.
        """
        hot = self._below(HOT_SELLER, numbers, _Draw.HOT_SELLER) > 0
        first = _last_person(numbers) // HOT_OF * HOT_OF
        initial, times = self._price(numbers, _Draw.INITIAL), self.times(numbers)
        mean = self.times(numbers + _AHEAD) - times
        return {
            "id": _last_auction(numbers) + FIRST_ID,
            "seller": np.where(hot, first, self._person(numbers, _Draw.SELLER)) + FIRST_ID,
            "category": FIRST_CATEGORY + self._below(CATEGORIES, numbers, _Draw.CATEGORY),
            "initial_bid": initial,
            "reserve": initial + self._price(numbers, _Draw.RESERVE),
            "time": times,
            "expires": times + 1 + self._below(np.maximum(2 * mean, 1), numbers, _Draw.LENGTH),
        }

    def bids(self, numbers: NDArray[np.int64]) -> Columns:
        """Bids: `auction`, `bidder`, `price` in cents, and `time`; hot bidders are never hot sellers.

        Args:
            numbers: Of events that are bids.
        """
        last = _last_auction(numbers)
        hot_auction = self._below(HOT_AUCTION, numbers, _Draw.HOT_AUCTION) > 0
        hot_bidder = self._below(HOT_BIDDER, numbers, _Draw.HOT_BIDDER) > 0
        oldest = np.maximum(last - OPEN, 0)
        any_auction = oldest + self._below(last - oldest + 1 + LEAD, numbers, _Draw.AUCTION)
        first = _last_person(numbers) // HOT_OF * HOT_OF
        return {
            "auction": np.where(hot_auction, last // HOT_OF * HOT_OF, any_auction) + FIRST_ID,
            "bidder": np.where(hot_bidder, first + 1, self._person(numbers, _Draw.BIDDER)) + FIRST_ID,
            "price": self._price(numbers, _Draw.PRICE),
            "time": self.times(numbers),
        }

    def _person(self, numbers: NDArray[np.int64], draw: _Draw) -> NDArray[np.int64]:
        """Any active person, counted from 0."""
        people = _last_person(numbers) + 1
        active = np.minimum(people, ACTIVE)
        return people - active + self._below(active + LEAD, numbers, draw)

    def _price(self, numbers: NDArray[np.int64], draw: _Draw) -> NDArray[np.int64]:
        """Cents, evenly spread over the logarithm from 1 to 1,000,000 dollars."""
        part = (self._bits(numbers, draw) >> np.uint64(11)) * 2.0**-53
        cents: NDArray[np.int64] = np.floor(10.0 ** (part * 6.0) * 100.0 + 0.5).astype(np.int64)
        return cents

    def _below(self, bound: int | NDArray[np.int64], numbers: NDArray[np.int64], draw: _Draw) -> NDArray[np.int64]:
        return (self._bits(numbers, draw) >> np.uint64(1)).astype(np.int64) % bound

    def _bits(self, numbers: NDArray[np.int64], draw: _Draw) -> NDArray[np.uint64]:
        """SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) at these places."""
        start = int(_mixed(np.array([(self.seed * _GOLDEN + draw) & _MASK], dtype=np.uint64))[0])
        return _mixed(numbers.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(start))


_AHEAD = OPEN * PERIOD // AUCTIONS
"""Events until `OPEN` auctions are made."""


def kinds(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Kind of each event, as `EventKind`.

    Args:
        numbers: Of the events.
    """
    bounds = np.array([PERSONS, PERSONS + AUCTIONS])
    return np.searchsorted(bounds, numbers % PERIOD, side="right").astype(np.int64)


def _last_person(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last person up to each event, counted from 0."""
    return numbers // PERIOD


def _last_auction(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last auction up to each event, counted from 0; -1 if there is none yet."""
    return numbers // PERIOD * AUCTIONS + np.clip(numbers % PERIOD - PERSONS, -1, AUCTIONS - 1)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
