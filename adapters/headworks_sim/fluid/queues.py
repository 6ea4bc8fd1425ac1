"""Queues in closed form: how long tuples stay in tasks that share the cores of a node, and how their stays spread.

A task is a queue whose servers are its threads (M/M/c, by Erlang's C). A node with fewer cores than busy threads makes
all of them slower. A variance of service other than that of exponential times changes what is waited, by Allen and
Cunneen's factor (Bolch et al., Queueing Networks and Markov Chains, section 6.3).
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from headworks_sim.fluid.layout import Floats

CROWDED = 0.95
"""Above this use of its node a task's waiting time grows no further: what has to wait, waits at the source."""
SAME = 100_000
"""Tuples on a node from which on it would need all its cores. With so many, threads are as good as alone."""
POINTS = 100
"""Points of a distribution. With fewer, the last percent is coarse; with more, a summary takes longer."""
LEVELS = (np.arange(POINTS) + 0.5) / POINTS
"""Parts of all tuples that stay no longer than each point."""
DEVIATES = np.array([NormalDist().inv_cdf(float(level)) for level in LEVELS])
"""The same of the normal distribution."""


def stretch(load: Floats, threads: Floats) -> tuple[Floats, Floats]:
    """Mean stay of a tuple in each task as a multiple of its service time, and its chance to wait; a core a thread.

    Args:
        load: float64 (n,), threads of the task that are busy, as a mean.
        threads: float64 (n,), whole numbers.
    """
    load = np.minimum(load, CROWDED * threads)
    blocked = np.ones_like(load)
    for count in range(1, int(threads.max(initial=0.0)) + 1):  # Erlang's B, by its recursion
        blocked = np.where(count <= threads, load * blocked / (count + load * blocked), blocked)
    waits = threads * blocked / (threads - load * (1.0 - blocked))
    return 1.0 + waits / (threads - load), waits


def crowding(load: float, inside: float, threads: float, cores: float) -> float:
    """How many times as long tuples stay on a node as they would if each thread had a core.

    Args:
        load: Busy cores, as a mean.
        inside: Tuples on the node, as a mean, if each thread had a core.
        threads: Number of threads.
        cores: Cores of the node, in parts too.
    """
    if load <= 0.0 or cores <= 0.0 or threads <= cores:
        return 1.0
    # Of n equal threads, those that would hold as many tuples; of a task with several threads they may be more.
    each = max((inside - load) / (inside * load), 0.0)
    alone = inside if threads * each >= 1.0 else on_cores(load, each, threads)
    return max(on_cores(load, each, cores) / alone, 1.0)


def on_cores(load: float, each: float, cores: float) -> float:
    """Tuples on a node as a chain of births and deaths, as a mean; those beyond a use of `CROWDED` are not counted.

    Of n tuples any way to deal them to N threads of equal load is as likely as any other, so that n / (1 + (n - 1) / N)
    threads are busy. As many work, and no more than there are cores. With a core a thread, and with one core, this is
    exact.

    Args:
        load: Busy cores, as a mean.
        each: 1 / N.
        cores: Cores of the node, in parts too.
    """
    least = cores * (1.0 - each) / (1.0 - cores * each) if cores * each < 1.0 else np.inf
    counted = min(load, CROWDED * cores)
    if least > SAME:  # a core a thread, as good as
        return load / (1.0 - counted * each)
    count = np.arange(1, max(math.ceil(least), 1) + 1, dtype=np.float64)
    chance = np.cumsum(np.log(counted / np.minimum(count / (1.0 + (count - 1.0) * each), cores)))
    top = max(float(chance.max()), 0.0)
    chance, ratio = np.exp(chance - top), counted / cores
    # From the last count on, all cores work: the rest is a geometric series.
    rest = chance[-1] * ratio / (1.0 - ratio)
    whole = math.exp(-top) + chance.sum() + rest
    found = (count @ chance + rest * (count[-1] + 1.0 / (1.0 - ratio))) / whole
    return float(found * load / counted)


def stays(service: Floats, longer: Floats, chance: Floats, variation: float) -> tuple[Floats, Floats]:
    """Mean and variance of the stay of tuples: of M/M/c, and of M/G/1 with gamma distributed service, exactly.

    Args:
        service: float64 (n,), mean service time.
        longer: float64 (n,), mean stay with exponential service times, as a multiple of that; 1 or more.
        chance: float64 (n,), chance to wait, at least.
        variation: Squared coefficient of variation of service times: 1 of exponential ones, 0 of constant ones.
    """
    exponential = service * (longer - 1.0)
    # Who waits, waits longer than the mean of all, by no more than a service time.
    odds = np.divide(1.0 - chance, chance, out=np.zeros_like(service), where=chance > 0)
    more = np.minimum(exponential * odds, service)
    wait = exponential * (1.0 + variation) / 2.0
    spread = variation * service**2 + wait**2 + 2.0 / 3.0 * (1.0 + 2.0 * variation) * wait * more
    return service + wait, spread


def distribution(mean: Floats, variance: Floats) -> Floats:
    """`POINTS` points of gamma distributions at `LEVELS`, by Wilson and Hilferty's cube of a normal one.

    Args:
        mean: float64 (n,).
        variance: float64 (n,).

    Returns:
        float64 (n, `POINTS`).
    """
    ninth = np.divide(variance, 9.0 * mean**2, out=np.zeros_like(mean), where=mean > 0)[:, None]
    root: Floats = np.maximum(1.0 - ninth + DEVIATES * np.sqrt(ninth), 0.0)
    return np.asarray(mean[:, None] * root**3, dtype=np.float64)
