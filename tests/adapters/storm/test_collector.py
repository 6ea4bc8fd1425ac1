"""The collector takes reports from real sockets, whatever else comes through them, and stays small."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks.model import Slot
from headworks_local.private_files import SecretFile, write_private
from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.peers.proof import derive
from headworks_storm.workers import collector as module
from headworks_storm.workers.collector import Collector, Reports, Tally
from headworks_storm.workers.watch import CollectorWatch
from patience import PATIENCE
from storm_callers import NoProofError, exchange
from storm_reports import Worker, report, report_line
from storm_rounds import round_text, supervisor, word_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = "secret"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector(token=TOKEN) as each:
        yield each


def call(collector: Collector, topology: str = "wc", token: str = TOKEN) -> socket.socket:
    client = socket.create_connection(collector.address, timeout=PATIENCE)
    exchange(client, derive(token, topology), "-", topology.encode().hex())
    return client


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def until_hung_up(client: socket.socket) -> bool:
    while not hung_up(client):
        pass
    return True


def hung_up(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_reports_of_many_workers_come_in_order(collector: Collector) -> None:
    clients = [call(collector) for _ in range(5)]
    for number in range(1, 21):
        for port, client in enumerate(clients):
            client.sendall(report_line(number=number, port=port))
    until(lambda: collector.tally.received == 100)
    for port in range(5):
        assert [each.number for each in collector.recent(60) if each.port == port] == list(range(1, 21))
    for client in clients:
        client.close()


def test_a_wrong_token_or_none_is_refused(collector: Collector) -> None:
    hello = b"headworks1 " + b"wc".hex().encode() + b" " + b"0" * 32 + b"\n"
    for said in (b"secret\n", b"\n", hello + b"secret\n", hello + b"0" * 64 + b"\n", b"x" * 100_000 + b"\n"):
        with closing(socket.create_connection(collector.address, timeout=PATIENCE)) as client:
            client.sendall(said + report_line())
            assert until_hung_up(client)
    assert collector.tally.refused == 5
    assert not collector.recent(60)


def test_another_token_in_the_file_counts_from_the_next_call_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, first, second = tmp_path / "token", "first of its kind", "second of its kind"
    write_private(file, first)
    with Collector(token=SecretFile(file).read) as collector, closing(call(collector, token=first)) as worker:
        write_private(file, second)
        with pytest.raises(NoProofError):
            call(collector, token=first)
        with closing(call(collector, token=second)) as again:
            for number, client in enumerate((worker, again), 1):
                client.sendall(report_line(number=number))
            until(lambda: collector.tally.received == 2)
        file.unlink()
        for _ in range(2):
            with pytest.raises(NoProofError):
                call(collector, token=second)
        assert [each.getMessage().partition(": ")[0] for each in caplog.records] == [
            "new connections of workers are refused"
        ]


def test_who_says_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GREETING", 0.05)
    with Collector(token=TOKEN) as collector, closing(socket.create_connection(collector.address)) as client:
        assert hung_up(client)
        assert collector.tally.refused == 1


def test_too_many_clients_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLIENTS", 1)
    with Collector(token=TOKEN) as collector, closing(call(collector)) as first:
        first.sendall(report_line())
        until(lambda: collector.tally.received == 1)
        with closing(call(collector)) as second:
            assert hung_up(second)
        assert (collector.tally.crowded, collector.tally.refused) == (1, 0)
        first.sendall(report_line(number=2))
        until(lambda: collector.tally.received == 2)


def test_garbage_and_halves_cost_no_report(collector: Collector) -> None:
    with closing(call(collector)) as client:
        for piece in (b"garbage\n", b"\n", b"{}\n", report_line(v=9), report_line(), report_line(number=2)[:50]):
            client.sendall(piece)
        until(lambda: collector.tally.invalid == 4 and collector.tally.received == 1)
        client.sendall(report_line(number=2)[50:])
        until(lambda: collector.tally.received == 2)
    assert collector.tally.lost == 0


def test_a_slow_client_delays_nobody(collector: Collector) -> None:
    slow, quick = call(collector), call(collector)
    for byte in report_line(port=1)[:-1]:
        slow.sendall(bytes([byte]))
    quick.sendall(report_line(port=2))
    until(lambda: collector.tally.received == 1)
    slow.sendall(b"\n")
    until(lambda: collector.tally.received == 2)
    slow.close()
    quick.close()


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_line_that_is_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    monkeypatch.setattr(module, "LINE", 10_000)
    with Collector(token=TOKEN) as collector, closing(call(collector)) as client:
        for _ in range(pieces):
            client.sendall(b"x" * 20_000)
        client.sendall(b"\n" + report_line())
        until(lambda: collector.tally.received == 1)
        assert (collector.tally.oversize, collector.tally.invalid) == (1, 0)


def test_missing_numbers_are_lost_reports(collector: Collector) -> None:
    with closing(call(collector)) as client:
        for number, started in ((1, 1), (2, 1), (5, 1), (1, 2), (2, 2)):
            client.sendall(report_line(number=number, started=started))
        until(lambda: collector.tally.received == 5)
    assert collector.tally.lost == 2


def test_what_workers_drop_when_it_is_too_slow_is_counted_to_the_report() -> None:
    """Sent is received and dropped: a gap in the numbers is as long as what the worker dropped."""
    fast = threading.Event()
    fast.set()

    def clock() -> float:
        fast.wait()
        return time.time()

    padding = "h" * 500_000
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(token=TOKEN, clock=clock))
        stack.callback(fast.set)
        workers = [stack.enter_context(Worker(collector.address, TOKEN)) for _ in range(3)]
        fast.clear()
        while any(each.dropped < 5 for each in workers):
            for port, each in enumerate(workers):
                each.report(report_line(number=each.number + 1, port=port, dropped=each.dropped, padding=padding))
        fast.set()
        for port, each in enumerate(workers):
            each.wait()
            each.report(report_line(number=each.number + 1, port=port, dropped=each.dropped))
            each.wait()
        asked, dropped = sum(each.number for each in workers), sum(each.dropped for each in workers)
        until(lambda: collector.tally.received == asked - dropped)
        assert collector.tally == Tally(received=asked - dropped, lost=dropped)
        last = {each.port: each for each in collector.recent(60)}
        assert [last[port].dropped for port in range(3)] == [each.dropped for each in workers]


def test_a_window_is_waited_for(collector: Collector) -> None:
    with closing(call(collector)) as client:
        client.sendall(report_line())
        until(lambda: collector.tally.received == 1)
        later = threading.Timer(0.1, lambda: client.sendall(report_line(number=2)))
        later.start()
        assert [each.number for each in collector.window(0.5)] == [2]
        assert [each.number for each in collector.recent(60)] == [1, 2]
        later.join()


def test_workers_measures_and_knows_who_is_alive(collector: Collector) -> None:
    snapshot = read_snapshot(round_text([supervisor("s1")], [word_count()]))
    with closing(call(collector)) as client:
        later = threading.Timer(0.1, lambda: client.sendall(report_line()))
        later.start()
        metrics = CollectorWatch(collector).measure(snapshot, 0.5)
        later.join()
    assert [each.task for each in metrics.tasks] == ["wc/count/0", "wc/lines/0"]
    assert CollectorWatch(collector).alive(snapshot)["wc/lines/0"] == Slot("s1", 6700)


def test_the_first_measurement_waits_until_all_that_run_have_reported(collector: Collector) -> None:
    """Reports begin after a second; the window is shorter than that."""
    here, nowhere = 0, -1
    running = word_count(slots=[("s1", 6700)], assignment=[nowhere, here, nowhere, here])
    snapshot = read_snapshot(round_text([supervisor("s1")], [running]))
    workers = CollectorWatch(collector)
    with closing(call(collector)) as client, ThreadPoolExecutor() as threads:

        def report_twice_a_second() -> None:
            for number in range(2, 8):
                time.sleep(0.5)
                client.sendall(report_line(number=number))

        later = threads.submit(report_twice_a_second)
        metrics = workers.measure(snapshot, 0.7)
        later.result()
    assert [each.task for each in metrics.tasks] == ["wc/count/0", "wc/lines/0"]


def test_what_a_process_said_that_was_to_end_shows_nobody_alive(collector: Collector) -> None:
    snapshot = read_snapshot(round_text([supervisor("s1")], [word_count()]))
    workers = CollectorWatch(collector)
    with closing(call(collector)) as client:
        client.sendall(report_line(started=1))
        until(lambda: collector.tally.received == 1)
        lives = workers.lives(snapshot)
        assert dict(lives) == {("wc", "s1", 6700, 1): Slot("s1", 6700)}
        assert workers.alive(snapshot, past=lives) == {}
        with closing(call(collector)) as gone:
            gone.sendall(report_line(started=2, supervisor="gone"))
            until(lambda: collector.tally.received == 2)
        client.sendall(report_line(started=2))
        until(lambda: collector.tally.received == 3)
    assert workers.alive(snapshot, past=lives) == {"wc/count/0": Slot("s1", 6700), "wc/lines/0": Slot("s1", 6700)}


def test_processes_that_ended_earlier_show_nobody_alive_either(collector: Collector) -> None:
    """A move that is taken back soon: the first process of the slot reported the same executors there."""
    snapshot = read_snapshot(round_text([supervisor("s1")], [word_count()]))
    workers = CollectorWatch(collector)
    with closing(call(collector)) as client:
        client.sendall(report_line(started=1))
        client.sendall(report_line(started=2))
        until(lambda: collector.tally.received == 2)
    lives = workers.lives(snapshot)
    assert {life[-1] for life in lives} == {1, 2}
    assert workers.alive(snapshot, past=lives) == {}


def test_what_is_kept_is_bounded() -> None:
    reports = Reports(kept=3, budget=1000)
    for number in range(1, 11):
        reports.add(report(number=number), 100)
    assert [each.number for each in reports.since(0)] == [8, 9, 10]
    for port in range(20):
        reports.add(report(port=port), 100)
    assert len(reports.since(0)) == 10
    assert (reports.tally().received, reports.tally().evicted) == (30, 13)
    reports.add(report(port=99), 5000)
    assert reports.since(0) == ()


def test_who_reports_for_one_topology_takes_nothing_of_the_others() -> None:
    """However many workers he makes up: before, all others were left with their last report."""
    reports = Reports(kept=10, budget=10_000)
    for number in range(1, 11):
        reports.add(report(float(number), topology="honest", number=number), 100)
    for port in range(5000):
        reports.add(report(topology="greedy", port=port), 100)
    kept = reports.since(0)
    assert [each.number for each in kept if each.topology == "honest"] == list(range(1, 11))
    assert [each.port for each in kept if each.topology == "greedy"] == list(range(4910, 5000))


def test_workers_of_a_topology_lose_their_oldest_reports_in_turn() -> None:
    reports = Reports(kept=10, budget=600)
    for number in range(1, 6):
        for port in (1, 2):
            reports.add(report(port=port, number=number), 100)
    assert sorted((each.port, each.number) for each in reports.since(0)) == [(p, n) for p in (1, 2) for n in (3, 4, 5)]


def test_silent_workers_are_forgotten() -> None:
    reports = Reports(kept=3, budget=250)
    reports.add(report(10.0, port=1), 100)
    reports.add(report(20.0, port=2), 100)
    reports.forget(15.0)
    reports.add(report(20.0, port=3), 100)
    assert [each.port for each in reports.since(0)] == [2, 3]
    assert reports.tally().evicted == 0


JUMPS = """
import sys, time
real, shift = time.time, 0.0
time.time = lambda: real() + shift
from headworks_storm.workers.collector import Collector
with Collector(token="secret") as collector:
    collector.take(sys.stdin.buffer.readline())
    for shift in (-3600.0, 3600.0):
        assert len(collector.recent(60.0)) == 1, f"gone after {shift}"
        time.sleep(0.01)
        assert collector.recent(0.005) == (), f"alive after {shift}"
"""
"""A process of its own, whose clock is set back and forth by an hour."""


def test_a_clock_that_is_set_makes_nobody_alive_or_gone() -> None:
    """Before, a worker that had ended looked alive for as long as the clock had been set back."""
    subprocess.run([sys.executable, "-c", JUMPS], input=report_line(), timeout=PATIENCE, check=True)


def test_a_port_that_is_taken_is_named(collector: Collector) -> None:
    host, port = collector.address
    with pytest.raises(EngineError, match=rf"{host}:{port} cannot be listened on"), Collector(port=port, token=TOKEN):
        pass


def test_an_empty_token_is_refused() -> None:
    with pytest.raises(EngineError, match="needs a token"):
        Collector(token="")


def test_nothing_is_left_after_the_end() -> None:
    with Collector(token=TOKEN) as collector:
        client = call(collector)
        client.sendall(report_line())
        until(lambda: collector.tally.received == 1)
    assert hung_up(client)
    client.close()
    assert "headworks-collector" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(collector.address)


def test_a_worker_reports_on_its_own_topology_and_slot_alone(collector: Collector) -> None:
    with closing(call(collector, "wc")) as client, closing(call(collector, "other")) as tenant:
        tenant.sendall(report_line())  # wc's tasks, by who knows the token of another topology
        client.sendall(report_line())
        client.sendall(report_line(port=6701))
        client.sendall(report_line(supervisor="s2"))
        tenant.sendall(report_line(topology="other"))
        client.sendall(report_line(number=2))
        until(lambda: collector.tally.received == 3)
    assert collector.tally == Tally(received=3, foreign=3)
    assert {(each.topology, each.port) for each in collector.recent(60)} == {("wc", 6700), ("other", 6700)}


def test_the_token_of_a_topology_opens_no_other(collector: Collector) -> None:
    for token, name in ((derive(TOKEN, "other"), "wc"), (TOKEN, "wc"), (derive(TOKEN, "wc"), "wcx")):
        with closing(socket.create_connection(collector.address, timeout=PATIENCE)) as client:
            with pytest.raises(NoProofError):
                exchange(client, token, "-", name.encode().hex())
            client.sendall(b"0" * 64 + b"\n" + report_line())
            assert until_hung_up(client)
    with closing(socket.create_connection(collector.address, timeout=PATIENCE)) as client:
        client.sendall(b"headworks1 no-hexadecimal-digits " + b"0" * 32 + b"\n")
        client.recv(1000)
        client.sendall(b"0" * 64 + b"\n")
        assert until_hung_up(client)
    assert collector.tally == Tally(refused=4)


def test_strangers_take_no_place_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STRANGERS", 8)
    with ExitStack() as stack, Collector(token=TOKEN, places=3) as collector:
        first = stack.enter_context(closing(call(collector)))
        for _ in range(40):
            stack.enter_context(closing(socket.create_connection(collector.address, timeout=PATIENCE)))
        for client in (first, call(collector), call(collector)):
            client.sendall(report_line())
            stack.callback(client.close)
        until(lambda: collector.tally.received == 3)
        until(lambda: collector.tally.refused >= 32)


@pytest.mark.skipif(shutil.which("ss") is None, reason="needs ss")
def test_the_system_looks_whether_a_silent_worker_is_still_there(collector: Collector) -> None:
    with closing(call(collector)) as client:
        client.sendall(report_line())
        until(lambda: collector.tally.received == 1)
        ports = (collector.address[1], client.getsockname()[1])
        sockets = f"sport = :{ports[0]} and dport = :{ports[1]}"
        shown = subprocess.run(["ss", "-tnoH", sockets], capture_output=True, text=True, check=True).stdout
    assert "timer:(keepalive," in shown
