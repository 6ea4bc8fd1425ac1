"""Nodes of a session: the machines of its executors, and what they offer."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import Node, Resources
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import node_of
from headworks_spark.events.sizes import amount, executor_memory
from headworks_spark.events.slots import CPUS, slots, task_needs
from headworks_spark.target import PORT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.model import Topology
    from headworks_spark.driver.driver import Driver, Executor

MACHINE = "MACHINE_TYPE"
"""Attribute of an executor, from `SPARK_EXECUTOR_ATTRIBUTE_MACHINE_TYPE` in the environment of its Worker."""

BANDWIDTH = "BANDWIDTH"
"""Attribute of an executor: bytes/s that its machine takes in, from `SPARK_EXECUTOR_ATTRIBUTE_BANDWIDTH`."""


RESOURCE = "spark.task.resource."
"""Begins of settings that say how much of a resource, such as a GPU, a task takes."""


RACK = "RACK"
"""Attribute of an executor, from `SPARK_EXECUTOR_ATTRIBUTE_RACK`."""


def nodes(spark: Any) -> tuple[Node, ...]:
    """The nodes that have a live executor, with the cores on which these run tasks (100 points each) and their memory.

    Tasks are as many as cores, GPUs and other resources allow.

    The type of a machine, its rack and its bandwidth are the executor attributes `MACHINE`, `RACK` and `BANDWIDTH`,
    which Spark makes of variables in its environment.
    """
    driver = driver_of(spark)
    needs, each_task = _needs(driver), task_threads(spark)
    tasks: dict[str, int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    said: dict[str, dict[str, str]] = defaultdict(dict)
    for executor in driver.executors(alive=True):
        host = node_of(executor)
        # Tasks that it runs at once: cores that are left over are no use to any.
        tasks[host] += slots(needs, executor.cores, _units(executor, needs))
        count[host] += 1
        for name in (MACHINE, RACK, BANDWIDTH):
            # A label that a pod lacks is an empty variable.
            if value := executor.attribute(name):
                said[host][name] = value
    memory = executor_memory(float(driver.heap()), lambda name: driver.setting(name, ""))
    return tuple(
        Node(
            id=host,
            capacity=Resources(cpu=100.0 * each_task * tasks[host], memory=memory * count[host]),
            slots=(PORT,),
            machine_type=said[host].get(MACHINE),
            rack=said[host].get(RACK),
            bandwidth=amount(said[host].get(BANDWIDTH, "")),
        )
        for host in sorted(tasks)
    )


def _needs(driver: Driver) -> dict[str, float]:
    """What a task takes of each resource of an executor, by the session's settings."""
    return task_needs(driver.settings(RESOURCE)) | {CPUS: float(driver.setting("spark.task.cpus", "1"))}


def _units(executor: Executor, needs: Iterable[str]) -> dict[str, int]:
    """Units that an executor has of each resource but cores."""
    named = ((name, executor.units(name)) for name in needs)
    return {name: units for name, units in named if units is not None}


def task_threads(spark: Any) -> int:
    """Cores that Spark keeps for one task, in which it may have as many threads (`spark.task.cpus`)."""
    return max(int(driver_of(spark).setting("spark.task.cpus", "1")), 1)


def with_threads(topology: Topology, threads: int) -> Topology:
    """The topology with so many threads in each task.

    Args:
        threads: What `task_threads` says.
    """
    components = tuple(attrs.evolve(each, threads=threads) for each in topology.components)
    return attrs.evolve(topology, components=components)
