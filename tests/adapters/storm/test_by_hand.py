"""An operator follows the page on a Storm that was started by hand: there, at work, measured, and back again."""

from __future__ import annotations

import re
import time

import psutil
import pytest

from storm_by_hand import ByHand, blocks, commands, read
from storm_cluster import RELEASE

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

PACKAGE = "org.apache.storm.scheduler"
OWN = {"default": f"{PACKAGE}.DefaultScheduler", "resource-aware": f"{PACKAGE}.resource.ResourceAwareScheduler"}
HOOKED = ("topology.auto.task.hooks", "topology.metrics.reporters")
ROUNDS = 25
"""Seconds in which Nimbus, as Storm has it, looks twice."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("own", [*OWN])
def test_the_page_leads_there_and_back_and_no_worker_restarts(java, ports, tmp_path, own):
    site = ByHand(tmp_path, ports, RELEASE)
    if own != "default":  # whose operator names no scheduler
        site.write(f'storm.scheduler: "{OWN[own]}"')
    with site:
        site.submit("first")
        workers = site.workers()
        install(site, OWN[own])
        workers |= site.workers()
        act(site)
        workers |= site.workers()
        assert {name for name, _ in workers} == {"first", "second", "third"}
        if own == "default":
            measure(site, *ports.take(1))
        undo(site, OWN[own])
        assert workers.items() <= site.workers().items()


def install(site, own):
    """The steps of the section, with a topology that is submitted in shadow."""
    _, doctor, jar, serve, again = commands("Install")
    assert site.doctor(site.fill(doctor))["Headworks"][1].startswith("not installed")
    assert site.run(jar).startswith(f"{site.home}/extlib-daemon/")
    ((_, lines),) = [block for block in blocks("Install") if block[0] == "yaml"]
    lines = lines.replace("/var/lib/headworks", str(site.folder)).replace(OWN["default"], own)
    site.write(lines, instead=("storm.scheduler",))
    with site.serving(site.fill(serve)[1:]) as said:
        site.until(
            "it says so", lambda: "shadow: plans are made and reported, Storm's own scheduler acts" in read(said)
        )
        site.restart("nimbus")
        found = site.doctor(site.fill(again))
        assert {found[each][0] for each in ("jar for Nimbus", "storm.scheduler", "headworks.endpoint")} == {"ok"}
        site.submit("second")
        site.until("its plan is journalled", lambda: '"second-' in read(site.folder / "rounds.jsonl"))
        assert "Headworks" not in site.nimbus.topology("second").scheduling


def serve_words(*more, site):
    """The command of the section without --shadow."""
    words = site.fill(commands("Install")[3])[1:]
    words.remove("--shadow")
    return [*words, *more]


def act(site):
    """The steps of the section, with a topology that Headworks places."""
    with site.serving(serve_words(site=site)):
        site.submit("third")
        (show,) = commands("Let it act")
        first, *_ = site.run(show.replace("NAME", "third")).splitlines()
        assert re.search(r"executors (in|on) 1 worker", first), first
        site.write("", instead=("headworks.shadow",))
        site.restart("nimbus")
        site.until("it answers the new Nimbus", lambda: "Headworks" in site.nimbus.topology("third").scheduling)


def measure(site, port):
    """The steps of the section: what the process prints goes into `storm.yaml`, and workers call its port."""
    site.run("headworks storm jar -O $STORM_HOME/extlib")
    with site.serving(serve_words("--collector", f"127.0.0.1:{port}", site=site)) as said:
        site.until("the lines", lambda: "headworks.collector.token.file" in read(said))
        lines = read(said).partition("their supervisor says:\n")[2]
        site.write("".join(f"{line.strip()}\n" for line in lines.splitlines() if line.startswith("  ")))
        for name in ("nimbus", "supervisor"):
            site.restart(name)
        site.submit("fourth")
        ((pid, _),) = [found for (name, _), found in site.workers().items() if name == "fourth"]
        site.until("its worker reports", lambda: port in ports_of(pid))
        found = site.doctor(site.fill("headworks doctor --storm $STORM_HOME"))
        assert {found[each][0] for each in (*HOOKED, "jar for workers", "headworks.collector")} == {"ok"}


def ports_of(pid):
    """The ports that a process is connected to."""
    found = psutil.Process(pid).net_connections("tcp")
    return {each.raddr.port for each in found if each.status == psutil.CONN_ESTABLISHED}


def undo(site, own):
    """The steps of the section; those of the second list, where workers report."""
    hooked, before = "fourth" if "fourth" in names(site) else "", site.workers()
    site.write(f'storm.scheduler: "{own}"', instead=("storm.scheduler",))
    site.restart("nimbus")
    time.sleep(ROUNDS)
    assert site.workers() == before
    doctor = "headworks doctor --storm $STORM_HOME"
    if hooked:
        site.write("", instead=HOOKED)
        for name in ("nimbus", "supervisor"):
            site.restart(name)
        assert hooked in site.doctor(site.fill(doctor))["topologies"][1]
        site.nimbus.kill(hooked, wait=0)
        site.until("it is gone", lambda: hooked not in {name for name, _ in site.workers()} | names(site))
    for jar in site.home.glob("extlib*/*.jar"):
        jar.unlink()
    kept = [line for line in site.yaml.read_text().splitlines() if not line.startswith("headworks.")]
    site.yaml.write_text("\n".join([*kept, ""]))
    site.restart("nimbus")
    assert site.doctor(site.fill(doctor))["Headworks"][1].startswith("not installed")


def names(site):
    """Topologies that Nimbus knows."""
    return {each.name for each in site.nimbus.cluster().topologies}
