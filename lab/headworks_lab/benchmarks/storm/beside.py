"""A topology beside itself with something more, on one cluster: tuples a second and CPU time for a tuple of both.

Both run at the same time, so that whatever else the machine does slows both, in workers that are new for each pair, for
the compiler of a JVM does not do the same twice. All times are of the processor, not of the clock: with other work
beside them workers take longer to be warm, and are. Threads of the compiler do not count: they take half of the first
minute, and nothing later. Needs the sources of the tests, where the topologies are, and Linux.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.cli.output import console, table
from headworks_storm.release.artefacts import STORM
from headworks_storm.workers.collector import Collector
from headworks_storm.workload.find import default_text

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
from storm_tally import Tally, hooked_storm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_storm.local.cluster import LocalStorm

TOKEN = "benchmark"


def parser(description: str | None, pairs: int) -> argparse.ArgumentParser:
    """The options that comparisons share.

    Args:
        pairs: How many by default.
    """
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--pairs", type=int, default=pairs)
    options.add_argument("--seconds", type=float, default=30.0, help="of the processor, that are measured")
    options.add_argument("--warm-up", type=float, default=20.0, help="those before them")
    options.add_argument("--bare", action="store_true", help="bolts that do nothing, unacked")
    options.add_argument("--rate", type=float, default=0.0, help="tuples a second of each bare spout; 0: all it can")
    return options


def cpu(storm: LocalStorm, name: str) -> float:
    """CPU seconds so far of the workers of a topology, but for the threads in which a JVM compiles."""
    ours = (each.pid for each in storm.workers() if each.topology.startswith(f"{name}-") and each.pid)
    folders = (folder for pid in ours for folder in Path(f"/proc/{pid}/task").iterdir())
    return sum(_cpu(folder) for folder in folders)


def _cpu(thread: Path) -> float:
    try:
        compiles = (thread / "comm").read_text().startswith(("C1 ", "C2 "))
        return 0.0 if compiles else int((thread / "schedstat").read_text().split()[0]) / 1e9
    except OSError:  # the thread has ended
        return 0.0


def run(
    storm: LocalStorm, folder: Path, pair: int, asked: argparse.Namespace, settings: Mapping[bool, Mapping[str, Any]]
) -> dict[bool, tuple[float, float]]:
    """Tuples a second that counting bolts receive, and CPU microseconds for each: without it, and with."""
    tallies = {}
    for more in (False, True) if pair % 2 == 0 else (True, False):
        place = folder / f"{pair}-{more}"
        place.mkdir()
        tallies[more] = tally = Tally(storm, place)
        if asked.bare or asked.rate:
            tally.submit(f"p{pair}-{more}", rate=asked.rate, acked=False, **settings[more])
        else:
            tally.submit_words(f"p{pair}-{more}", default_text(), **settings[more])
    while not all(each.counts() for each in tallies.values()):
        time.sleep(0.5)
    samples: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
    ages = dict.fromkeys(tallies, 0.0)
    while min(ages.values()) <= asked.warm_up + asked.seconds:
        for key, tally in tallies.items():
            ages[key] = used = cpu(storm, f"p{pair}-{key}")
            if asked.warm_up < used <= asked.warm_up + asked.seconds:  # at the same age, for a JVM gets faster
                samples[key].append((time.perf_counter(), used, sum(tally.counts().values())))
        time.sleep(0.25)
    figures = {}
    for key, found in samples.items():
        at, used, tuples = np.array(found).T
        # Bolts write their counts once a second: a slope over all samples does not hang on the first and the last.
        figures[key] = float(np.polyfit(at, tuples, 1)[0]), 1e6 * float(np.polyfit(tuples, used, 1)[0])
        storm.gateway.kill(f"p{pair}-{key}", wait=0)
    while storm.workers():
        time.sleep(0.5)
    return figures


def compare(
    name: str, asked: argparse.Namespace, plain: Mapping[str, Any], more: Mapping[str, Any], **daemons: Any
) -> None:
    """Print each pair, and the ratios.

    Args:
        name: Of what one of the two has more.
        plain: Settings of the topology without it.
        more: Settings of the one with it.
        daemons: Settings of all daemons.
    """
    settings = {False: plain, True: more}
    rows, ratios, speeds = [], [], []
    with tempfile.TemporaryDirectory() as place, Collector(token=TOKEN) as collector:
        folder = Path(place)
        (folder / "token").write_text(TOKEN)
        with hooked_storm(collector, folder / "token", STORM, hooks=False, seconds=5, **daemons) as storm:
            for pair in range(asked.pairs):
                figures = run(storm, folder, pair, asked, settings)
                ratios.append(figures[True][1] / figures[False][1])
                speeds.append(figures[True][0] / figures[False][0])
                told = (f"{figures[key][part]:,.{2 * part}f}" for part in (0, 1) for key in (False, True))
                rows.append((str(pair + 1), *told, f"{speeds[-1]:.3f}", f"{ratios[-1]:.3f}"))
                print(*rows[-1], flush=True)
    heads = ("pair", "plain /s", f"{name} /s", "plain \u00b5s", f"{name} \u00b5s", "ratio of /s", "ratio of \u00b5s")
    console().print(table(f"Storm {STORM}, {collector.tally.received} reports", heads, rows, numbers=heads))
    for figure, found in (("tuples/s", speeds), ("CPU for a tuple", ratios)):
        print(f"{figure}, {name} / plain: median {statistics.median(found):.3f}, {min(found):.3f} to {max(found):.3f}")
