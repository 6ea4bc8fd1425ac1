"""Reports a second that a collector takes on one core, from workers with 10 tasks and 40 flows each: loss and CPU."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time

from headgate.cli.output import console, table
from headgate_storm.peers.proof import derive, make_nonce, prove
from headgate_storm.workers.collector import Collector

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
    client.sendall(f"headgate1 {name} {nonce}\n".encode())
    other = client.makefile("r").readline().split()[0]
    client.sendall(prove(token, "caller", "-", name, (nonce, other)).encode() + b"\n")


def send(address: tuple[str, int], rate: float) -> None:
    """In a process of its own: all workers take turns, at this rate in all."""
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


def main() -> None:
    """Print the table."""
    heads = ("asked /s", "sent /s", "lost", "% of a core", "µs each", "evicted")
    title = f"{WORKERS} workers, {len(LINE.format(number=1, port=1))} bytes a report, {SECONDS:.0f} s"
    console().print(table(title, heads, [run(rate) for rate in RATES], numbers=heads))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send((sys.argv[1], int(sys.argv[2])), float(sys.argv[3]))
    else:
        main()
