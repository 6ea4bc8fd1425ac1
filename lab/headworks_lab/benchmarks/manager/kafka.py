"""Triggers from a real broker of Kafka at a steady rate: whether the manager records them all, and how far behind.

`python -m headworks_lab.benchmarks.manager.kafka [PER_SECOND] [SECONDS]`, by default 1,000 a second for a minute, over
100 topologies on SQLite. What is recorded is counted in the database; the processor time is that of the manager's
process."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psutil
from confluent_kafka import Producer

from headworks.cli.output import console, table
from headworks_local.kafka.broker import LocalKafka
from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store

TOPOLOGIES = 100
COUNT = "SELECT coalesce(sum(times), 0) FROM headworks_history WHERE action = 'trigger'"
TOPIC = "triggers"
LATEST = 600.0
"""Seconds that are waited for the last trigger."""


def main() -> None:
    rate, seconds = (int(word) for word in (*sys.argv[1:3], *("1000", "60")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as name, LocalKafka() as broker:
        database = Path(name) / "manager.sqlite"
        with opened(str(database)) as engine:
            for number in range(TOPOLOGIES):
                Store(engine).set(f"t{number}", {"priority": 5, "hold": 0}, Author(who="benchmark"))
        words = ("--kafka", f"{broker.bootstrap}/{TOPIC}", "--database", database, "--token", Path(name) / "token")
        command = [sys.executable, "-m", "headworks", "priority", "serve", "--listen", "127.0.0.1:0", *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as manager:
            try:
                show(rate, seconds, measure(broker.bootstrap, database, psutil.Process(manager.pid), rate, seconds))
            finally:
                manager.terminate()


def measure(bootstrap: str, database: Path, manager: psutil.Process, rate: int, seconds: int) -> dict[str, float]:
    """Send one trigger, which the manager has to be ready for, then all others; figures in seconds and triggers."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "acks": "all"})
    send(producer, 0)
    producer.flush(LATEST)
    wait_for(database, 1)
    begin, busy, behind = time.monotonic(), sum(manager.cpu_times()[:2]), 0
    for number in range(1, rate * seconds + 1):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        send(producer, number)
        if number % rate == 0:
            behind = max(behind, number + 1 - recorded(database))
    producer.flush(LATEST)
    sent = time.monotonic() - begin
    wait_for(database, rate * seconds + 1)
    return {
        "sent": rate * seconds,
        "in seconds": sent,
        "recorded": recorded(database) - 1,
        "most behind": behind,
        "seconds after the last": time.monotonic() - begin - sent,
        "CPU seconds of the manager": sum(manager.cpu_times()[:2]) - busy,
    }


def send(producer: Producer, number: int) -> None:
    topology = f"t{number % TOPOLOGIES}"
    trigger = {"topology": topology, "on": number // TOPOLOGIES % 2 == 0, "source": "bolt", "sequence": number + 1}
    producer.produce(TOPIC, json.dumps(trigger).encode(), key=topology.encode())
    producer.poll(0)


def recorded(database: Path) -> int:
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        (count,) = connection.execute(COUNT).fetchone()
    return int(count)


def wait_for(database: Path, number: int) -> None:
    deadline = time.monotonic() + LATEST
    while recorded(database) < number:
        if time.monotonic() > deadline:
            raise SystemExit(f"{recorded(database)} of {number} triggers are recorded after {LATEST:.0f} s")
        time.sleep(0.05)


def show(rate: int, seconds: int, found: dict[str, float]) -> None:
    shown = [(name, f"{value:,.1f}" if isinstance(value, float) else f"{value:,}") for name, value in found.items()]
    console().print(table(f"{rate} triggers a second for {seconds} s", ("what", "figure"), shown, numbers=("figure",)))


if __name__ == "__main__":
    main()
