"""Both ends of the bridge for real: Storm's own classes in a JVM, and the Python end that they call."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from headworks.model import Slot
from headworks.plugins.host import PluginHost
from headworks_local.java import BRIEF, find_java
from headworks_local.maven import Artefact, resolve
from headworks_storm.nimbus.answer import Answer, layouts
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.nimbus.snapshot import DESIRED, MINIMUM, Snapshot, read_snapshot
from headworks_storm.nimbus.timing import Timing
from headworks_storm.release.artefacts import distribution
from headworks_storm.release.jar import own_jars
from headworks_storm.service import SCHEDULER
from patience import PATIENCE
from storm_schemas import valid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

OTHER_PY4J = Artefact("net.sf.py4j", "py4j", "0.8.1")
"""A py4j that Headworks's classes do not work with."""
PATIENT = {"nimbus.monitor.freq.secs": 30, "headworks.timeout.ms": 27_000}
"""The first round loads the classes, which takes longer than the usual five seconds on a machine that is busy."""


@pytest.fixture(scope="module", params=["2.8.3", pytest.param("2.6.4", marks=pytest.mark.matrix)])
def jvm(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A JVM with one Storm, the jar, and a py4j of another version, by which this process speaks to it.

    Headworks's own comes out of the jar.
    """
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    port, process = launch_gateway(
        jarpath=str(resolve(OTHER_PY4J)),
        classpath=os.pathsep.join(str(each) for each in (own_jars().bridge, *distribution(request.param).lib)),
        javaopts=["--add-opens=java.base/java.util=ALL-UNNAMED", *BRIEF],  # which the other py4j needs on Java 17
        java_path=str(find_java().program),
        die_on_exit=True,
        return_proc=True,
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()
    process.stdin.close()
    process.wait(timeout=PATIENCE)


@pytest.fixture
def cluster(jvm: Any) -> Any:
    return two_supervisors(jvm, [6700, 6701])


def two_supervisors(jvm: Any, ports: list[int], cpu: float = 400.0, *, gone: tuple[str, ...] = ()) -> Any:
    """Two supervisors with these ports each, and a topology of two spouts and four bolts that asks for two workers."""
    storm, scheduler = jvm.org.apache.storm, jvm.org.apache.storm.scheduler
    builder = storm.topology.TopologyBuilder()
    builder.setSpout("word", storm.testing.TestWordSpout(), 2)
    builder.setBolt("count", storm.testing.TestWordCounter(), 4).shuffleGrouping("word")
    components = {1: "count", 2: "count", 3: "count", 4: "count", 5: "word", 6: "word"}
    executors = {scheduler.ExecutorDetails(task, task): name for task, name in components.items()}
    conf = storm.utils.Utils.readDefaultConfig()
    conf["nimbus.task.launch.secs"] = 240
    conf["topology.name"] = "wc"
    topology = scheduler.TopologyDetails("wc-1", conf, builder.createTopology(), 2, executors, "root")
    supervisors = {
        name: scheduler.SupervisorDetails(
            name, f"127.0.0.1{index}", None, ports, {"cpu.pcore.percent": cpu, "memory.mb": 4096.0}
        )
        for index, name in enumerate(["s1", "s2"])
        if name not in gone
    }
    metrics = scheduler.resource.normalization.ResourceMetrics(storm.metric.StormMetricsRegistry())
    nimbus = jvm.org.apache.storm.daemon.nimbus.Nimbus.StandaloneINimbus()
    return scheduler.Cluster(nimbus, metrics, supervisors, {}, scheduler.Topologies({"wc-1": topology}), conf)


@pytest.fixture
def schedule(jvm: Any, cluster: Any, tmp_path: Path) -> Iterator[Callable[[], dict[int, tuple[str, int]]]]:
    """Run a round of the scheduler, and tell the slot of each task."""
    scheduler = jvm.headworks.storm.HeadworksScheduler()
    conf = {"headworks.endpoint": str(tmp_path / "endpoint.json"), **PATIENT}
    scheduler.prepare(conf, jvm.org.apache.storm.metric.StormMetricsRegistry())

    def run() -> dict[int, tuple[str, int]]:
        scheduler.schedule(cluster.getTopologies(), cluster)
        found = cluster.getAssignmentById("wc-1").getExecutorToSlot()
        return {each.getStartTask(): (slot.getNodeId(), slot.getPort()) for each, slot in found.items()}

    yield run
    scheduler.cleanup()


class Placing:
    """Answers with a slot for every component, and keeps the rounds that it was asked."""

    def __init__(self, slots: dict[str, Slot]) -> None:
        self.slots = slots
        self.rounds: list[Snapshot] = []

    def __call__(self, text: str) -> str:
        valid("storm-round", text)
        snapshot = read_snapshot(text)
        self.rounds.append(snapshot)
        wanted = {task: self.slots[task.split("/")[1]] for each in snapshot.scheduled for task in each.executors}
        answer = Answer(layouts=layouts(snapshot, wanted), status={"wc-1": "placed"}).text(snapshot)
        valid("storm-answer", answer)
        return answer


def test_what_nimbus_says_is_read_and_what_is_answered_is_done(
    cluster: Any, schedule: Callable[[], Any], tmp_path: Path
) -> None:
    placing = Placing({"count": Slot("s1", 6700), "word": Slot("s2", 6701)})
    with Bridge(placing, tmp_path / "endpoint.json"):
        placed = schedule()
    assert placed == dict.fromkeys(range(1, 5), ("s1", 6700)) | dict.fromkeys((5, 6), ("s2", 6701))
    assert cluster.getStatus("wc-1") == "placed"
    (asked,) = placing.rounds
    assert asked.timing == Timing(launch=240.0)
    assert [(node.id, node.slots, node.capacity.cpu) for node in asked.nodes] == [
        ("s1", (6700, 6701), 400.0),
        ("s2", (6700, 6701), 400.0),
    ]
    (scheduled,) = asked.scheduled
    assert Counter(task.split("/")[1] for task in scheduled.executors) == {"count": 4, "word": 2}
    assert [(each.source, each.target, each.grouping) for each in scheduled.topology.streams] == [
        ("word", "count", "local-or-shuffle")  # as Storm's shuffle that minds the load does
    ]


def test_a_shuffle_that_minds_no_load_goes_to_all_tasks(
    cluster: Any, schedule: Callable[[], Any], tmp_path: Path
) -> None:
    cluster.getTopologies().getById("wc-1").getConf().put("topology.disable.loadaware.messaging", True)
    placing = Placing({"count": Slot("s1", 6700), "word": Slot("s2", 6701)})
    with Bridge(placing, tmp_path / "endpoint.json"):
        schedule()
    ((scheduled,),) = (asked.scheduled for asked in placing.rounds)
    assert [each.grouping for each in scheduled.topology.streams] == ["shuffle"]


def test_the_next_round_shows_what_was_done(schedule: Callable[[], Any], tmp_path: Path) -> None:
    placing = Placing({"count": Slot("s1", 6700), "word": Slot("s2", 6701)})
    with Bridge(placing, tmp_path / "endpoint.json"):
        schedule()
        placing.slots["word"] = Slot("s2", 6700)
        moved = schedule()
    first, second = placing.rounds
    assert (first.nimbus, first.round + 1) == (second.nimbus, second.round)
    assert set(second.assignment.values()) == {Slot("s1", 6700), Slot("s2", 6701)}
    assert {moved[task] for task in (5, 6)} == {("s2", 6700)}


def test_storm_places_what_nobody_plans(cluster: Any, schedule: Callable[[], Any]) -> None:
    assert Counter(schedule().values()) == {("s1", 6700): 3, ("s2", 6700): 3}
    assert "endpoint.json" in cluster.getStatus("wc-1")
    assert "Storm's EvenScheduler placed 6 unassigned executors" in cluster.getStatus("wc-1")


def test_python_raises(cluster: Any, schedule: Callable[[], Any], tmp_path: Path) -> None:
    def answer(_text: str) -> str:
        raise ValueError("no such luck")

    with Bridge(answer, tmp_path / "endpoint.json"):
        schedule()
    assert cluster.getStatus("wc-1").startswith("Headworks does not answer (it raised ValueError: no such luck)")


def test_python_comes_back_on_another_port(cluster: Any, schedule: Callable[[], Any], tmp_path: Path) -> None:
    placing = Placing({"count": Slot("s1", 6700), "word": Slot("s1", 6700)})
    for _ in range(3):
        with Bridge(placing, tmp_path / "endpoint.json"):
            schedule()
        assert cluster.getStatus("wc-1") == "placed"
    assert len(placing.rounds) == 3


USE_CASE_1 = {"EventTP1": (8, 4, 1), "EventTP2": (8, 4, 1), "ArchivalTP1": (4, 2, 2), "ArchivalTP2": (4, 2, 2)}
"""Desired and minimum nodes and priority of the topologies of Table 8 of the priority thesis."""


def thesis(jvm: Any) -> Any:
    """16 supervisors, and these topologies, which say in their configuration what they want."""
    storm, scheduler = jvm.org.apache.storm, jvm.org.apache.storm.scheduler
    builder = storm.topology.TopologyBuilder()
    builder.setSpout("word", storm.testing.TestWordSpout(), 1)
    builder.setBolt("count", storm.testing.TestWordCounter(), 1).shuffleGrouping("word")
    graph = builder.createTopology()
    topologies = {}
    for name, (desired, minimum, priority) in USE_CASE_1.items():
        conf = storm.utils.Utils.readDefaultConfig()
        conf["topology.name"], conf["topology.priority"] = name, priority
        conf[DESIRED], conf[MINIMUM] = desired, minimum
        parts = {task: "count" if task <= desired else "word" for task in range(1, 2 * desired + 1)}
        executors = {scheduler.ExecutorDetails(task, task): part for task, part in parts.items()}
        topologies[name] = scheduler.TopologyDetails(name, conf, graph, desired, executors, "root")
    supervisors = {
        f"s{number:02}": scheduler.SupervisorDetails(
            f"s{number:02}",
            f"127.0.1.{number}",
            {"headworks.machine.type": "c4.large", "headworks.bandwidth": "125e6" if number else "fast"},
            [6700, 6701],
            {"cpu.pcore.percent": 200.0, "memory.mb": 3840.0},
        )
        for number in range(16)
    }
    metrics = scheduler.resource.normalization.ResourceMetrics(storm.metric.StormMetricsRegistry())
    nimbus = jvm.org.apache.storm.daemon.nimbus.Nimbus.StandaloneINimbus()
    whole = storm.utils.Utils.readDefaultConfig()
    return scheduler.Cluster(nimbus, metrics, supervisors, {}, scheduler.Topologies(topologies), whole)


def test_sps_reproduces_table_8_of_its_thesis_from_what_nimbus_asks(jvm: Any, tmp_path: Path) -> None:
    cluster, asked = thesis(jvm), []
    scheduler = jvm.headworks.storm.HeadworksScheduler()
    conf = {"headworks.endpoint": str(tmp_path / "endpoint.json"), **PATIENT}
    scheduler.prepare(conf, jvm.org.apache.storm.metric.StormMetricsRegistry())
    host = PluginHost.load()
    rounds = Rounds(
        lambda request: host.schedule("sps", request), on_decision=lambda _, decision: asked.append(decision.request)
    )
    with Bridge(rounds.answer, tmp_path / "endpoint.json"):
        scheduler.schedule(cluster.getTopologies(), cluster)
    scheduler.cleanup()
    (request,) = asked
    assert {node.machine_type for node in request.cluster.nodes} == {"c4.large"}
    assert {node.bandwidth for node in request.cluster.nodes} == {125e6, None}
    placed = {name: cluster.getAssignmentById(name).getExecutorToSlot().values() for name in USE_CASE_1}
    nodes = {name: len({slot.getNodeId() for slot in slots}) for name, slots in placed.items()}
    assert nodes == {"EventTP1": 6, "EventTP2": 6, "ArchivalTP1": 2, "ArchivalTP2": 2}


@pytest.mark.parametrize(("strategy", "kept"), [("DefaultBlacklistStrategy", []), ("RasBlacklistStrategy", ["s2"])])
def test_a_plan_of_fewer_workers_takes_hosts_off_the_blacklist_but_for_the_strategy_that_the_page_names(
    jvm: Any, strategy: str, kept: list[str]
) -> None:
    """All executors are in one worker, of two that the topology asks for, and no other slot is there but on `s2`."""
    cluster, scheduler = two_supervisors(jvm, [6700]), jvm.org.apache.storm.scheduler
    executors = cluster.getTopologies().getById("wc-1").getExecutors()
    cluster.assign(scheduler.WorkerSlot("s1", 6700), "wc-1", executors)
    judge = getattr(scheduler.blacklist.strategies, strategy)()
    judge.prepare({"nimbus.monitor.freq.secs": 10})
    failed = [{"s2": jvm.java.util.HashSet([6700])}] * 3  # as often as Storm tolerates
    assert sorted(judge.getBlacklist(failed, [], cluster, cluster.getTopologies())) == kept


@pytest.mark.parametrize("name", ["storm", "headworks"])
def test_an_executor_for_which_only_a_blacklisted_host_has_room_starts_there_and_waits_under_storm_alone(
    jvm: Any, tmp_path: Path, name: str
) -> None:
    """`s1` has a free slot and no CPU, and Storm's blacklist counts slots: it would keep `s2` for half an hour."""
    scheduler = jvm.org.apache.storm.scheduler
    registry = jvm.org.apache.storm.metric.StormMetricsRegistry()
    storm = scheduler.resource.ResourceAwareScheduler
    nimbus = scheduler.blacklist.BlacklistScheduler(
        (storm if name == "storm" else jvm.headworks.storm.HeadworksScheduler)()
    )
    conf = jvm.org.apache.storm.utils.Utils.readDefaultConfig()
    for setting, value in {"headworks.endpoint": str(tmp_path / "endpoint.json"), **PATIENT}.items():
        conf[setting] = value
    nimbus.prepare(conf, registry)
    host = PluginHost.load()
    rounds = Rounds(lambda request: host.schedule("resource-aware", request))
    with Bridge(rounds.answer, tmp_path / "endpoint.json"):
        for gone in ((), ("s2",), ("s2",), ("s2",), ()):
            cluster = two_supervisors(jvm, [6700, 6701], cpu=50.0, gone=gone)
            executors = cluster.getTopologies().getById("wc-1").getExecutors()
            five = [each for each in executors if each.getStartTask() < 6]
            cluster.assign(scheduler.WorkerSlot("s1", 6700), "wc-1", five)
            nimbus.schedule(cluster.getTopologies(), cluster)
    nimbus.cleanup()
    assert [*cluster.getBlacklistedHosts()] == ["127.0.0.11"]  # that of s2
    waits = [each.getStartTask() for each in cluster.getUnassignedExecutors(cluster.getTopologies().getById("wc-1"))]
    assert waits == ([6] if name == "storm" else [])


def test_storm_knows_its_resource_aware_scheduler_by_the_name_of_its_class(jvm: Any) -> None:
    """The notes of the page on leaving it follow from that; see the test of what Nimbus makes of a topology."""
    knows = jvm.org.apache.storm.utils.ServerUtils.isRas
    assert knows({"storm.scheduler": "org.apache.storm.scheduler.resource.ResourceAwareScheduler"})
    assert not knows(dict(SCHEDULER))
