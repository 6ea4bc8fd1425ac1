"""Durations of the simulated engine: cycles, moves and restarts; and the settings of an experiment's time."""

from __future__ import annotations

import math
from typing import Literal

import attrs

Style = Literal["executor", "worker", "rebalance", "seats"]
"""How a task moves: alone, as a thread (N-Storm); with a restart of both workers, as supervisors do it (Storm*); with a
stop of the whole topology (Storm's `rebalance`); to a seat that waits for it (`headworks storm submit --seats`)."""


@attrs.frozen(kw_only=True)
class Timing:
    """Cycles and delays of a simulated cluster, in seconds if nothing else is stated.

    The first three are settings of N-Storm (section 5.2). `start`, `stall_tasks`, `recovery`, `pause` and `restart` are
    printed nowhere: they were fitted to its Fig. 9 (see `headworks reproduce sim`) and hold for that cluster. `seat`
    was measured on a real one.

    Attributes:
        style: How tasks move.
        supervisor_cycle: T_S, how often a supervisor reads the assignment.
        worker_cycle: T_W, how often a worker asks its supervisor.
        kill_delay: D_K, how long a task that leaves goes on running (lazy killing).
        start: From the order to start a task until it runs.
        restart: From the end of a worker process until its tasks run again.
        stop: For how long `rebalance` stops a topology.
        stall_tasks: A topology completes nothing while so many of its running tasks are absent.
        recovery: A topology is slow for so long after a stall.
        pause: A topology is slow for so long after its last moved task has started (connections are made anew).
        slow: Part of its rate at which a slow topology runs.
        seat: From the last tuple of a task in one seat until it has its state (1 KB) in another: median of 100 moves.
        detection: After so long without a sign of life a node is dead to the monitor.
        hop: Milliseconds of a tuple from node to node, beside what its bytes take where a network is bounded.
        wake: Milliseconds until a task takes what comes to its queue, mean of exponential times.
        variation: Squared coefficient of variation of service times: 1 of exponential ones, 0 of constant ones.
        bucket: Bytes that a node's network passes at full speed after a pause.
        goodput: Part of a node's bandwidth that tuples can have; TCP loses the rest where queues overflow.
        pending: Tuples that a spout's task has under way at most; others wait at the source, and are not late yet.
        planning: Seconds in which a batch is planned and committed.
        task: CPU seconds of each task of a batch beside its tuples.
        burst: Multiple of its nominal load at which a topology takes from a backlog, if its nodes allow.
    """

    style: Style = attrs.field(default="executor", metadata={"help": "How tasks move."})
    supervisor_cycle: float = attrs.field(
        default=10.0, metadata={"help": "Supervisors' cycle (T_S), seconds.", "least": 0}
    )
    worker_cycle: float = attrs.field(default=3.0, metadata={"help": "Workers' cycle (T_W), seconds.", "least": 0})
    kill_delay: float = attrs.field(default=2.0, metadata={"help": "Delay of a kill (D_K), seconds.", "least": 0})
    start: float = 5.3
    restart: float = 14.0
    stop: float = 30.0
    stall_tasks: int = attrs.field(default=5, validator=attrs.validators.ge(1))
    recovery: float = 3.2
    pause: float = 2.2
    slow: float = 0.13
    seat: float = 0.0104
    detection: float = 30.0
    hop: float = 0.5
    wake: float = 0.0
    variation: float = 1.0
    bucket: float = 0.0
    goodput: float = 1.0
    pending: float = math.inf
    planning: float = 0.0
    task: float = 0.0
    burst: float = 10.0


@attrs.frozen(kw_only=True)
class Span:
    """The time that an experiment simulates, in simulated seconds, and how the control loop divides it.

    Attributes:
        duration: Of the experiment, after its warm-up.
        warm_up: Left out, before time 0.
        window: Of one look.
        interval: Between two rounds.
    """

    duration: float = attrs.field(default=600.0, metadata={"help": "Simulated seconds.", "above": 0})
    warm_up: float | None = attrs.field(
        default=None,
        metadata={"help": "Seconds before them that are left out: 60, or 0 if tasks of the request run.", "least": 0},
    )
    window: float = attrs.field(default=10.0, metadata={"help": "Simulated seconds to measure.", "above": 0})
    interval: float = attrs.field(default=20.0, metadata={"help": "Simulated seconds between two rounds.", "least": 0})


@attrs.frozen(kw_only=True)
class Draws:
    """The random draws of a simulation.

    Attributes:
        seed: Of the moments at which supervisors and workers look.
    """

    seed: int = attrs.field(default=0, metadata={"help": "Seed of the moments at which supervisors look."})
