"""`headworks serve storm` as a process of its own, asked as the bridge in Nimbus asks: proofs, then py4j's wire."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

import storm_callers
from headworks import documents
from headworks.cli.live import newest_round
from headworks.control.journal import Round, read_journal
from headworks.errors import EngineError
from headworks.model import Component, FrozenMap, Kind, Plan, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_local.private_files import read_or_make_secret
from headworks_storm.install.submit import submit_description
from headworks_storm.nimbus.bridge import Endpoint
from headworks_storm.peers.proof import derive
from headworks_storm.service import HOOKS, ServiceSettings, serve
from headworks_storm.workload.describe import Load, describe
from patience import PATIENCE
from plugin_folder import GOOD, install
from shell import HEADWORKS, called, running
from storm_cluster import running_cluster, wait_for
from storm_cluster import word_count as submit
from storm_reports import Worker, report_line
from storm_rounds import round_text, supervisor, word_count
from storm_schemas import valid

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def served(folder, *options, file=None, program=(HEADWORKS,), **environment):
    """The process, and a function that asks it a round."""
    file = file or folder / "endpoint.json"
    words = ("serve", "storm", "--endpoint", file, "--journal", folder / "journal", *options)
    with running(*words, folder=folder, program=program, **environment) as (process, _):
        wait_for("its endpoint", lambda: file.exists() or process.poll() is not None)
        yield process, lambda text: ask(Endpoint.read(file), text)


def ask(endpoint, text):
    return valid("storm-answer", storm_callers.ask(endpoint, text, seconds=PATIENCE))


def journal(folder):
    lines = (folder / "journal").read_text().rpartition("\n")[0].splitlines()
    return [documents.structure(json.loads(line), Round) for line in lines if line]


def written_by_now(folder):
    """The journal, which is written after the answer."""
    return wait_for("a record", lambda: (folder / "journal").exists() and journal(folder))


def new(**more):
    return round_text([supervisor("a"), supervisor("b")], [word_count(**more)])


def test_rounds_are_answered_journalled_and_shown(tmp_path):
    with served(tmp_path, "-s", "even", "--json") as (process, asked):
        answer = asked(new())
        assert answer["mode"] == "assign"
        assert sorted(task for _, _, flat in answer["topologies"]["wc"] for task in flat) == [1, 1, 2, 2, 3, 3, 4, 4]
        assert asked(new(slots=[("a", 6700)], assignment=[0] * 4))["topologies"] == {}
        shown = json.loads(process.stdout.readline())
        (written,) = written_by_now(tmp_path)  # a round in which nothing was planned is none
        assert shown["outcome"] == written.outcome == "answered"
        assert len(written.plan.assignment) == 4
        assert written.request.cluster.nodes[0].id == "a"
        (scheduler,) = psutil.Process(process.pid).children()  # it starts no process but this one
        assert scheduler.cmdline()[-2:] == ["headworks.plugins.worker", "even"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert not scheduler.is_running()
    assert not (tmp_path / "endpoint.json").exists()


def test_it_says_whether_nimbus_asks(tmp_path):
    with served(tmp_path, "-s", "resource-aware", "--patience", 1) as (process, asked):
        assert any("Nimbus has not asked for 1 s" in line for line in process.stderr)
        asked(new())
        assert any("Nimbus asks, and is answered" in line for line in process.stderr)


def test_with_log_json_stderr_is_an_object_a_line(tmp_path):
    with served(tmp_path, "-s", "even", "--log-json") as (process, asked):
        asked(new())
        written_by_now(tmp_path)
        lines = iter(map(json.loads, process.stderr))
        assert "answers Nimbus" in next(lines)["message"]
        done = next(each for each in lines if "round" in each)
        assert (done["round"], done["logger"], done["level"]) == (1, "headworks.rounds", "info")
        assert done["message"].startswith("round 1: answered: ")


def test_shadow_plans_and_journals_and_leaves_the_round_to_storm(tmp_path):
    with served(tmp_path, "-s", "even", "--shadow") as (_, asked):
        answer = asked(new())
        assert (answer["mode"], answer["topologies"]) == ("own", {})
        (written,) = written_by_now(tmp_path)
        assert len(written.plan.assignment) == 4
        assert (written.outcome, "Storm's own scheduler places them" in written.message) == ("unchanged", True)


def test_other_commands_and_prometheus_hear_of_rounds(tmp_path, ports):
    pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    port, collector = ports.take(2)
    words = ("--metrics", port, "--collector", f"127.0.0.1:{collector}", "--samples", tmp_path / "samples")
    with served(tmp_path, "-s", "even", *words) as (process, asked):
        name = f"storm:{process.pid}"
        with pytest.raises(EngineError, match="has ended no round yet"):
            newest_round(name)
        asked(new(slots=[("a", 6700)], assignment=[0] * 4))  # nothing is to be placed, and nothing is planned
        told = newest_round(name)
        assert (told.outcome, told.plan, len(told.request.assignment)) == ("quiet", None, 4)
        asked(new())
        told = newest_round(name)
        assert (told.outcome, len(told.plan.assignment)) == ("answered", 4)
        with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
        assert 'headworks_rounds_total{outcome="answered"} 1.0' in text
        assert 'headworks_moves_total{kind="place"} 4.0' in text
        (fates,) = re.findall('fate=~"(.*)"', called("metrics", "alerts").stdout)
        for each in fates.split("|"):
            assert f'headworks_reports_total{{fate="{each}"}} 0.0' in text


def test_prometheus_reads_what_the_collector_hears_of_the_busiest_tasks(tmp_path, ports):
    pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    port, collector = ports.take(2)
    words = ("--metrics", port, "--metrics-tasks", 1, "--collector", f"127.0.0.1:{collector}")
    with served(tmp_path, "-s", "even", *words) as (_, asked):
        asked(new(slots=[("a", 6700)], assignment=[0] * 4))
        with Worker(("127.0.0.1", collector), (tmp_path / "collector.token").read_text().strip()) as worker:

            def shown():
                worker.report(report_line(supervisor="a", number=worker.number + 1))
                with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
                    return re.findall(r"^headworks_task_cpu_points{(.*)} \d", page.read().decode(), re.MULTILINE)

            (labels,) = wait_for("figures of a task", shown)
        assert labels.startswith('component="lines",')  # with twice the CPU of the bolt


def test_options_come_from_a_file(tmp_path):
    config = tmp_path / "headworks.toml"
    config.write_text('[serve.storm]\nscheduler = "even"\nshadow = true\n')
    with served(tmp_path, "--config", config) as (_, asked):
        assert asked(new())["mode"] == "own"
        (written,) = written_by_now(tmp_path)
        assert written.plan.provenance.scheduler == "even"
    config.write_text('[serve.storm]\nschedular = "even"\n')
    with served(tmp_path, "--config", config) as (process, _):
        assert process.wait(PATIENCE) == 2
        assert "/serve/storm/schedular: unknown key" in process.stderr.read()


def test_what_cannot_be_placed_is_said_and_what_is_no_round_is_told_without_a_traceback(tmp_path):
    with served(tmp_path, "-s", "resource-aware") as (process, asked):
        answer = asked(round_text([supervisor("a", cpu=25.0)], [word_count()]))
        assert "not started: 2 of 4 executors cannot be placed" in answer["status"]["wc"]
        with pytest.raises(AssertionError, match="this is not a scheduling round of Storm"):
            asked("{}")
        endpoint = Endpoint.read(tmp_path / "endpoint.json")
        with pytest.raises(storm_callers.NoProofError):
            ask(Endpoint(port=endpoint.port, token="0" * 64), new())
        assert asked(new())["mode"] == "assign"  # it serves on
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        assert "Traceback" not in process.stderr.read()


LIMITED = ("bash", "-c", 'ulimit -n 1024 && exec "$0" "$@"', HEADWORKS)


def test_strangers_at_both_ports_take_no_round_and_no_place_of_a_worker(tmp_path, many_files, ports):
    (port,) = ports.take()
    collector = ("127.0.0.1", port)
    words = ("serve", "storm", "-s", "even", "--collector", "{}:{}".format(*collector), "--endpoint", "endpoint.json")
    words += ("--journal", "journal")
    with running(*words, folder=tmp_path, program=LIMITED) as (process, _), contextlib.ExitStack() as stack:
        file = tmp_path / "endpoint.json"
        wait_for("its endpoint", file.exists)
        endpoint = Endpoint.read(file)
        token = derive((tmp_path / "collector.token").read_text().strip(), "wc")
        for number in range(1100):
            for address in (("127.0.0.1", endpoint.port), collector):
                stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            if number % 200 == 0:
                assert ask(endpoint, new())["mode"] == "assign"
        with socket.create_connection(collector, timeout=PATIENCE) as worker:
            storm_callers.exchange(worker, token, "-", b"wc".hex())
            worker.sendall(report_line())
            assert ask(endpoint, new())["mode"] == "assign"
            stack.close()
            assert ask(endpoint, new())["mode"] == "assign"
            worker.settimeout(0.2)
            with pytest.raises(TimeoutError):  # its connection stands
                worker.recv(1)
        wait_for("counts", lambda: (records := journal(tmp_path)) and records[-1].counts.get("bridge refused", 0) > 900)
        assert journal(tmp_path)[-1].counts["refused"] > 900
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        assert "768 workers can report at a time: `ulimit -n` is 1024" in process.stderr.read()


def test_topping_up_is_asked_for_and_says_what_it_restarts(tmp_path):
    full = round_text([supervisor("a", ports=(6700,))], [word_count(slots=[("a", 6700)], assignment=[0, 0, -1, 0])])
    for options, topologies, words in (
        ((), set(), "1 executors cannot be placed"),
        (("--top-up",), {"wc"}, "restarts the worker on a:6700"),
    ):
        with served(tmp_path, "-s", "even", *options) as (process, asked):
            answer = asked(full)
            assert answer["topologies"].keys() == topologies
            assert words in answer["status"]["wc"]
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


SMALL_DISK = 'mount -t tmpfs -o size=64k tmpfs "$1" && shift && exec "$@"'
"""Begins a program with a disk of 64 KB on a folder, in a namespace of mounts of its own."""


@pytest.fixture
def small_disk(tmp_path):
    """The words that begin a program with a small disk on a folder, and that folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    for unshare in (("unshare", "-m"), ("unshare", "-rm")):
        words = (*unshare, "sh", "-ec", SMALL_DISK, "sh", str(folder))
        with contextlib.suppress(OSError):
            if not subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
                return words, folder
    return pytest.skip("needs CAP_SYS_ADMIN, or user namespaces: a small disk is mounted for one process")


def test_a_full_disk_holds_up_no_round(tmp_path, small_disk):
    """The journal and the samples come to the end of a real disk; once there is room, rounds are recorded again."""
    words, disk = small_disk
    keep = ("--collector", "127.0.0.1:0", "--journal", disk / "journal", "--samples", disk / "samples", "--json")
    with served(tmp_path, "-s", "even", *keep, program=(*words, HEADWORKS)) as (process, asked):
        seen = Path(f"/proc/{process.pid}/root", *disk.parts[1:])  # the disk as the process has it
        asked(new())
        json.loads(process.stdout.readline())
        wait_for("a record", lambda: (seen / "journal").read_bytes().endswith(b"\n"))
        fill(seen / "filler")
        for _ in range(60):
            assert len(asked(new())["topologies"]) == 1
        rounds = [json.loads(process.stdout.readline()) for _ in range(60)]
        assert os.statvfs(seen).f_bavail == 0
        (seen / "filler").unlink()
        asked(round_text([supervisor("a")], [word_count()], number=99))
        rounds.append(json.loads(process.stdout.readline()))
        # a line that the full disk cut off spoils no other
        wait_for("a record again", lambda: [*read_journal(seen / "journal")][-1]["number"] == 99)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        said = process.stderr.read()
    assert "cannot be written: No space left on device" in said
    assert "the journal is written again" in said
    assert "Traceback" not in said
    assert "rounds are not in it" in rounds[-2]["notes"][-1]
    assert rounds[-2]["counts"]["unjournalled"] >= 3
    assert any("more unjournalled" in each for done in rounds for each in done.get("warnings", ()))


def fill(file):
    """Write to a file until its disk has no room left."""
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as full:
        while full.write(bytes(512)):
            pass


@pytest.mark.parametrize(
    "loop", [(), ("--replan", "--interval", "0", "--window", "0.1", "--patience", "1")], ids=["answers", "loop"]
)
def test_a_terminal_that_nobody_reads_holds_up_no_round(tmp_path, loop):
    """A pipe takes 64 KB; more than a hundred rounds of 4 KB and more are answered beyond that."""
    with served(tmp_path, "-s", "even", "--json", *loop) as (process, asked):
        for _ in range(150):
            assert len(asked(new())["topologies"]) == 1
        journalled = wait_for("records of the last rounds", lambda: full_pipe(tmp_path))
        assert journalled.counts["unshown"] > 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert "Traceback" not in process.stderr.read()


def full_pipe(folder):
    """A record of a round in which others had not been shown."""
    return next((each for each in journal(folder) if each.counts["unshown"]), None)


def test_what_the_collector_refuses_is_in_the_record_and_warned_of(tmp_path, ports):
    (port,) = ports.take()
    with served(tmp_path, "-s", "even", "--json", "--collector", f"127.0.0.1:{port}") as (process, asked):
        asked(new())
        assert json.loads(process.stdout.readline())["counts"]["refused"] == 0
        for _ in range(3):
            with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"let me in\n" * 100)
                while stranger.recv(4096):
                    pass
        asked(new())
        shown = json.loads(process.stdout.readline())
        assert shown["counts"]["refused"] == 3
        assert shown["warnings"] == ["since the last round: 3 more refused"]
        records = wait_for("both records", lambda: len(found := journal(tmp_path)) == 2 and found)
        assert records[-1].counts["refused"] == 3


@pytest.fixture(scope="module")
def cluster(java, tmp_path_factory, ports):
    """A cluster at work, whose workers look for a collector at `cluster.collector`."""
    folder = tmp_path_factory.mktemp("served")
    read_or_make_secret(folder / "collector.token")
    # Nobody listens at the second but in the test of the standby: the first has a neighbour that is gone.
    first, second = ports.take(2)
    address, other = f"127.0.0.1:{first}", ("127.0.0.1", second)
    conf = {
        **HOOKS,
        "headworks.collector": [address, "{}:{}".format(*other)],
        "headworks.collector.token.file": str(folder / "collector.token"),
        "headworks.monitor.seconds": 1,
        "nimbus.monitor.freq.secs": 2,
    }
    with running_cluster(folder, conf=conf) as made:
        made.collector, made.standby = address, other
        made.token = folder / "collector.token"
        yield made


BAD = {
    "raises": GOOD.replace("return problem.plan([-1] * problem.n)", "raise ValueError('no such luck')"),
    "refuses": GOOD,
}
"""Schedulers that have no plan: one breaks, one says that no node will do."""


@pytest.mark.storm
@pytest.mark.network
class TestOnACluster:
    def test_what_workers_report_is_kept_as_parquet(self, cluster, tmp_path):
        dataset = pytest.importorskip("pyarrow.dataset")
        samples, rows = tmp_path / "samples", []
        loop = ("-s", "even", "--replan", "--shadow", "--window", "1", "--interval", "0")
        keep = ("--collector", cluster.collector, "--samples", samples)
        for attempt in range(10):
            with served(tmp_path, *loop, *keep, file=cluster.endpoint) as (process, _):
                tasks = wait_for("figures of every task", lambda: measured(tmp_path))
                if attempt > 1:
                    wait_for("the file of a minute", lambda: list(samples.rglob("*.parquet")))
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE) == 128 + signal.SIGTERM
            rows = dataset.dataset(samples, format="parquet", partitioning="hive").to_table().to_pylist()
            if rows:  # a busy machine may not write them within the seconds that a signal leaves
                break
        assert {row["task"] for row in rows if row["kind"] == "task"} == tasks
        assert {row["node"] for row in rows if row["kind"] == "node"} == {node for node, _ in cluster.stored().values()}
        assert sum(row["tuples"] for row in rows if row["kind"] == "flow") > 0
        assert {row["engine"] for row in rows} == {"storm"}

    @pytest.mark.parametrize(("name", "words"), [("raises", "no such luck"), ("refuses", "cannot be placed")])
    def test_what_runs_is_held_without_a_plan(self, cluster, tmp_path, name, words):
        install(tmp_path, "bad", BAD)
        before = cluster.state()
        loop = ("-s", name, "--replan", "--window", "1", "--interval", "0", "--collector", cluster.collector)
        with served(tmp_path, *loop, file=cluster.endpoint, PYTHONPATH=str(tmp_path)):
            told = told_of(cluster, name, words, lambda: submit(cluster.storm, name=name, rate=0.01))
            wait_for(
                "a plan that the loop did not get", lambda: any(each.outcome == "held" for each in looped(tmp_path))
            )
        assert ("Storm's EvenScheduler placed" in told) is (name == "raises")
        assert {each.outcome for each in looped(tmp_path)} <= {"held", "failed"}
        cluster.storm.gateway.kill(name, wait=0)
        # The same workers, by their pids; a supervisor that halted itself, as on a busy machine, is started again.
        assert cluster.settled() == before, cluster.story()

    def test_a_topology_beyond_what_nodes_declare_starts_as_under_storm_alone_and_is_said_to(self, cluster, tmp_path):
        before = cluster.settled()
        loop = ("-s", "resource-aware", "--collector", cluster.collector)
        with served(tmp_path, *loop, file=cluster.endpoint):
            submit_parts(cluster, "fits", 5.0)
            # Tasks of 100 points on three nodes of 300: they have room for nine at most, and there are ten.
            beyond = "beyond what is declared of"
            told_of(cluster, "large", beyond, lambda: submit_parts(cluster, "large", 100.0, tasks=10))
            wait_for("workers of all", lambda: names_at_work(cluster) == {cluster.name, "fits", "large"})
            for name in ("large", "fits"):
                cluster.storm.gateway.kill(name, wait=0)
            wait_for("their end", lambda: names_at_work(cluster) == {cluster.name})
        assert cluster.state() == before, cluster.story()

    @pytest.mark.matrix  # test_local.py has a standby that leads
    def test_a_standby_nimbus_takes_over_with_a_process_and_figures_of_its_own(self, cluster, tmp_path):
        before, host = cluster.settled(), PluginHost.load()
        mine = ServiceSettings(endpoint=tmp_path / "standby.json", collector=cluster.standby, token=cluster.token)
        first = ("-s", "even", "--collector", cluster.collector, "--token", cluster.token)
        with served(tmp_path, *first, file=cluster.endpoint), serve(host, "even", {}, mine) as second:
            cluster.storm.start_standby_nimbus(**{"headworks.endpoint": str(mine.endpoint)})
            wait_for("reports beside the standby", lambda: second.collector.recent(10))
            assert second.target.rounds.newest is None  # it does not lead
            cluster.storm.kill_nimbus()
            cluster.storm.start_nimbus()  # clients ask it who leads
            wait_for("rounds of the standby", lambda: second.target.rounds.newest)
            wait_for("the standby", lambda: cluster.storm.gateway.cluster().leader.host == "127.0.0.2")
            after = cluster.settled()
            assert len(after.nimbus) == 2
            assert (after.slots, after.workers) == (before.slots, before.workers), cluster.story()
            seen = wait_for("figures of every task", lambda: complete(host.observe("storm", second.target, 3.0)))
            # And a move is seen to arrive: without figures, it could not be.
            task, slot = next(iter(sorted(seen.assignment.items())))
            target = next(each for each in sorted(set(seen.assignment.values())) if each != slot)
            plan = Plan(assignment=FrozenMap({**seen.assignment, task: target}))
            receipt = host.execute("storm", second.target, plan)
            assert receipt.done, receipt
            assert [step.action for step in receipt.steps] == ["assign", "alive"]
            assert "are alive where asked" in receipt.steps[1].message
            moved = cluster.settled()
            gone = {port for _, port in before.workers - moved.workers}
            assert gone == {slot.port, target.port}, cluster.story()


def complete(seen):
    """An observation with figures of every task, else None: a busy machine may not report all in a short window."""
    return seen if {each.task for each in seen.metrics.tasks} == set(seen.assignment) else None


def names_at_work(cluster):
    """Names of the topologies that have a worker process."""
    return {each.topology.rsplit("-", 2)[0] for each in cluster.storm.workers() if each.pid}


def status(cluster, name):
    """What the scheduler says of a topology, as Nimbus shows it; nothing before Nimbus has heard of it."""
    with contextlib.suppress(EngineError):
        return cluster.storm.gateway.topology(name).scheduling
    return ""


def told_of(cluster, name, words, submit):
    """Submit until Nimbus says such words of a topology: what had no answer within its 1.8 s, Storm alone starts."""
    for _ in range(10):
        submit()
        told = wait_for(f"what Nimbus says of {name}", lambda: status(cluster, name))
        if words in told:
            break
        cluster.storm.gateway.kill(name, wait=0)
        wait_for("its end", lambda: not is_known(cluster, name))
    assert words in told
    return told


def is_known(cluster, name):
    """True while Nimbus knows a topology."""
    with contextlib.suppress(EngineError):
        return bool(cluster.storm.gateway.topology(name))
    return False


def submit_parts(cluster, name, cpu, tasks=4):
    """Submit a topology of tasks that declare so many CPU points each, and use few."""
    task = Resources(cpu=cpu, memory=64)
    parts = (
        Component(id="in", kind=Kind.SPOUT, rate=10, demand=task),
        Component(id="out", parallelism=tasks - 1, demand=task),
    )
    made = Topology(id=name, components=parts, streams=(Stream(source="in", target="out"),))
    submit_description(describe(made, load=Load(cpu=0.05)), cluster.storm.client_conf, version=cluster.storm.version)


def looped(folder):
    """What the control loop did: the rounds that Nimbus did not ask for."""
    return [each for each in journal(folder) if not each.message.startswith("Nimbus has")]


def measured(folder):
    """The running tasks, once the control loop has had figures of every one, though not all in one short window."""
    requests = [each.request for each in looped(folder) if each.request]
    tasks = set(requests[-1].assignment)
    return tasks if tasks == {each.task for asked in requests for each in asked.metrics.tasks} else None
