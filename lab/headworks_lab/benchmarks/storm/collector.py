"""The collector: reports a second that it takes on one core, CPU for a report by its flows, and what rounds pay for it.

Reports a second are from workers with 10 tasks and 40 flows each. A round is the question and answer of the bridge in
the same process, with a plan of pure Python that takes a tenth of a second.
"""

from __future__ import annotations

import pickle
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.cli.output import console, table
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.peers.proof import derive, make_nonce, prove
from headworks_storm.workers.collector import Collector
from headworks_storm.workers.reports import read_report

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "benchmark"
WORKERS = 500
SECONDS = 10.0
RATES = (500, 1000, 2000, 4000)
TASKS = ",".join(f"[{task},1234,1234,0,0,0,0]" for task in range(1, 11))
FLOWS = ",".join(f"[{task},{100 + 7 * each},123,45678]" for task in range(1, 11) for each in range(4))
EXECUTORS = ",".join(f"[{task},123456789,12]" for task in range(1, 11))
LINE = (
    '{{"v":1,"topology":"wc","supervisor":"s","host":"h","port":{port},"started":1,"number":{number},"time":1,'
    '"window":5000,"dropped":0,"cpu":123456789,"heap":123456789,"sample":1024,'
    f'"tasks":[{TASKS}],"flows":[{FLOWS}],"executors":[{EXECUTORS}]}}}}\n'
)


def prove_worker(client: socket.socket) -> None:
    """The caller's half of the proofs, for the topology `wc`."""
    token, name, nonce = derive(TOKEN, "wc"), b"wc".hex(), make_nonce()
    client.sendall(f"headworks1 {name} {nonce}\n".encode())
    other = client.makefile("r").readline().split()[0]
    client.sendall(prove(token, "caller", "-", name, (nonce, other)).encode() + b"\n")


def send(address: tuple[str, int], rate: float, flows: int = 0) -> None:
    """In a process of its own: all workers take turns, at this rate in all; with flows, one report until it ends."""
    if flows:
        send_one(address, rate, report(flows).encode())
    clients = []
    for _ in range(WORKERS):
        clients.append(socket.create_connection(address))
        prove_worker(clients[-1])
    begin = time.perf_counter()
    for index in range(int(rate * SECONDS)):
        number, port = divmod(index, WORKERS)
        clients[port].sendall(LINE.format(number=number + 1, port=port).encode())
        time.sleep(max(0.0, begin + index / rate - time.perf_counter()))
    print(time.perf_counter() - begin)
    for client in clients:
        client.close()


def send_one(address: tuple[str, int], rate: float, line: bytes) -> None:
    """Send one report again and again."""
    with socket.create_connection(address) as client:
        prove_worker(client)
        begin, index = time.perf_counter(), 0
        while True:
            index += 1
            if rate:
                client.sendall(line)
            time.sleep(max(0.0, begin + index / rate - time.perf_counter()) if rate else 1)


def run(rate: float) -> tuple[str, ...]:
    """Send from a child, and count."""
    with Collector(token=TOKEN) as collector:
        before = resource.getrusage(resource.RUSAGE_SELF)
        command = [sys.executable, __file__, *map(str, collector.address), str(rate)]
        took = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        tally = None
        while tally != collector.tally:
            tally = collector.tally
            time.sleep(1)
        after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sent = int(rate * SECONDS)
    lost = sent - tally.received
    figures = (rate, sent / took, lost, 100 * cpu / took, 1e6 * cpu / sent, tally.evicted)
    return tuple(f"{each:.0f}" for each in figures)


def report(flows: int) -> str:
    """A report of so many flows."""
    rows = ",".join(f"[{each % 10},{each},123,45678]" for each in range(flows))
    return LINE.replace(FLOWS, rows).format(number=1, port=1)


def cost(flows: int) -> tuple[str, ...]:
    """CPU for reading a report, and for taking one from another process that has read it."""
    line = report(flows)
    packed = pickle.dumps(read_report(line, 0.0), 5)
    reading = least(lambda: read_report(line, 0.0), 20_000 // flows)
    taking = least(lambda: pickle.loads(packed), 20_000 // flows)
    return (f"{flows:,}", f"{len(line) / 1e3:.0f}", f"{reading:.2f}", f"{taking:.2f}")


def least(call: Callable[[], object], times: int) -> float:
    """Milliseconds of CPU for a call, the least of five series."""
    series = []
    for _ in range(5):
        begin = time.process_time()
        for _ in range(max(3, times)):
            call()
        series.append(1e3 * (time.process_time() - begin) / max(3, times))
    return min(series)


def plan(text: str) -> str:
    """A plan that holds the interpreter, as most schedulers do."""
    for _ in range(2_000_000):
        pass
    return text


def rounds(rate: int) -> tuple[str, ...]:
    """Seconds of a round while a collector in the same process takes reports of 2,000 flows."""
    with (
        Collector(token=TOKEN) as collector,
        tempfile.TemporaryDirectory() as folder,
        Bridge(plan, Path(folder) / "endpoint") as bridge,
    ):
        command = [sys.executable, __file__, *map(str, collector.address), str(rate), "2000"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
            time.sleep(2)
            before, begin, took = collector.tally.received, time.perf_counter(), []
            for _ in range(20):
                start = time.perf_counter()
                ask(bridge)
                took.append(time.perf_counter() - start)
            came = (collector.tally.received - before) / (time.perf_counter() - begin)
            child.kill()
    return tuple(f"{each:.3g}" for each in (rate, came, statistics.median(took), max(took)))


def ask(bridge: Bridge) -> None:
    """A round of 0.4 MB, as Nimbus asks it."""
    assert bridge.endpoint is not None
    token, port, nonce = bridge.endpoint.token, str(bridge.endpoint.port), make_nonce()
    with socket.create_connection(("127.0.0.1", int(port))) as nimbus, nimbus.makefile("r") as said:
        nimbus.sendall(f"headworks1 nimbus {nonce}\n".encode())
        nonces = (nonce, said.readline().split()[0])
        call = f"{prove(token, 'caller', port, 'nimbus', nonces)}\nc\nt\nanswer\ns{'x' * 400_000}\ne\n"
        nimbus.sendall(call.encode())
        said.readline()


def main() -> None:
    """Print the tables."""
    heads = ("flows", "KB", "ms to read", "ms to take")
    console().print(table("CPU for a report", heads, [cost(each) for each in (100, 2_000, 50_000)], numbers=heads))
    heads = ("asked /s", "came /s", "median s", "most s")
    console().print(table("a round meanwhile", heads, [rounds(each) for each in (0, 50, 200)], numbers=heads))
    heads = ("asked /s", "sent /s", "lost", "% of a core", "µs each", "evicted")
    title = f"{WORKERS} workers, {len(LINE.format(number=1, port=1))} bytes a report, {SECONDS:.0f} s"
    console().print(table(title, heads, [run(rate) for rate in RATES], numbers=heads))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    else:
        main()
