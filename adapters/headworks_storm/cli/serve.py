"""`headworks serve storm`: the process beside Nimbus that answers its rounds and runs the control loop."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.installed import plugins
from headworks.cli.output import json_option, log_json_option, say
from headworks.cli.parameters import Address, FiniteRange, samples_options, with_settings
from headworks.cli.request import option_option
from headworks.cli.rounds import (
    BackgroundQueue,
    Screen,
    journal_option,
    loop_settings,
    make_journal,
    metrics_option,
    metrics_tasks_option,
    run_rounds,
    watched,
)
from headworks.cli.settings import Configured, Pace, make
from headworks.errors import EngineError
from headworks.model import Request
from headworks_storm.cli.records import Records

if TYPE_CHECKING:
    from headworks import PluginHost
    from headworks.cli.parameters import TopicAddress
    from headworks.control.journal import Journal
    from headworks.control.loop import Control
    from headworks_storm.service import Service, ServiceSettings


@click.group()
def serve() -> None:
    """Serve an engine that asks for its schedule."""


@serve.command("storm", cls=Configured, settings=lambda: loop_settings(without=("elastic", "slowdown")))
@click.option("-s", "--scheduler", default="resource-aware", show_default=True, help="Name of a scheduler.")
@option_option
@click.option(
    "--endpoint",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write for Nimbus, which names it as headworks.endpoint.",
)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Where to listen; by default any free port.")
@click.option("--collector", type=Address(), metavar="HOST:PORT", help="Where to take the reports of workers.")
@click.option(
    "--token",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the secret of workers; made if it is not there, by default beside the endpoint.",
)
@samples_options("reports of workers")
@click.option(
    "--samples-mb",
    default=10_240,
    show_default=True,
    type=click.IntRange(min=1),
    help="MB that the folder of --samples may hold; beyond, its oldest files go.",
)
@click.option(
    "--top-up",
    is_flag=True,
    help="Put executors for which no slot is free into running workers of their topology, which restart.",
)
@click.option(
    "--patience",
    type=FiniteRange(min=1),
    help="Seconds that Nimbus may take to store a plan, and workers to start; by default as Nimbus's own settings say.",
)
@click.option(
    "--home",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A Storm installation whose conf/storm.yaml names Nimbus, by which topologies are paused (--drain), tasks "
    "with seats move, and commands of `headworks storm` are carried out.",
)
@click.option(
    "--at-once",
    default=4,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Tasks of a topology that move from seat to seat at a time; needs --home.",
)
@journal_option
@metrics_option
@metrics_tasks_option
@log_json_option
@json_option
@click.pass_context
def storm(
    context: click.Context,
    /,
    *,
    scheduler: str,
    options: dict[str, Any],
    endpoint: Path,
    port: int,
    collector: tuple[str, int] | None,
    token: Path | None,
    samples: Path | TopicAddress | None,
    kafka_conf: Path | None,
    samples_mb: int,
    top_up: bool,
    patience: float | None,
    home: Path | None,
    at_once: int,
    journal: Path | None,
    metrics: tuple[str, int] | None,
    metrics_tasks: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """Answer the scheduling rounds of a Storm cluster, and run the control loop on it.

    Executors without a slot are placed in the round that shows them. Running executors move when the scheduler's
    analysis calls for it. Without an analysis they stay, unless you give --replan or --priorities.
    """
    # numpy, cattrs and asyncio cost 0.3 s, which the list of commands does not need.
    from headworks.control.loop import Control
    from headworks_storm.install.installation import Installation
    from headworks_storm.service import ServiceSettings

    _refuse_halves(samples, collector, home, drain=settings.get("drain") is not None)
    host = plugins(context)
    values = host.options_on("storm", scheduler, options)
    control = make(Control, settings, engine="storm", scheduler=scheduler, options=values)
    where = ServiceSettings(
        endpoint=endpoint,
        port=port,
        collector=collector,
        token=token,
        samples=with_settings(samples, kafka_conf),
        samples_mb=samples_mb,
        knowledge=control.knowledge,
        priorities=control.priorities,
        top_up=top_up,
        patience=patience,
        nimbus=Installation.at(home).gateway if home is not None else None,
        home=home,
        at_once=at_once,
        fill=control.limits.fill,
    )
    with host.isolated(wanted=control.isolation != "thread") as apart:
        pace, kept = make(Pace, settings), make_journal(journal)
        bad = _serve(apart, control, where, pace, kept, metrics=metrics, tasks=metrics_tasks, as_json=as_json)
    context.exit(1 if bad else 0)


def _refuse_halves(
    samples: Path | TopicAddress | None, collector: tuple[str, int] | None, home: Path | None, *, drain: bool
) -> None:
    """Refuse options whose other half is missing."""
    if samples is not None and collector is None:
        raise click.UsageError("--samples keeps the reports of workers: give --collector HOST:PORT as well")
    if drain and (home is None or collector is None):
        raise click.UsageError(
            "--drain pauses topologies until workers report that they are empty: "
            "give --home and --collector HOST:PORT as well"
        )


def _serve(
    host: PluginHost,
    control: Control,
    where: ServiceSettings,
    pace: Pace,
    journal: Journal,
    *,
    metrics: tuple[str, int] | None,
    tasks: int,
    as_json: bool,
) -> int:
    """Serve and run the loop until there were enough rounds or a signal comes; the number of bad rounds."""
    # numpy, cattrs and asyncio cost 0.3 s, which the list of commands does not need.
    from headworks.control.loop import Loop
    from headworks_storm.service import serve

    with BackgroundQueue("headworks-screen") as shown, BackgroundQueue("headworks-journal") as written:
        records = Records(journal, written, Screen(shown, as_json=as_json), shadow=control.shadow)
        with contextlib.ExitStack() as stack:
            stack.enter_context(records.logging())
            heard = stack.enter_context(watched("storm", host, metrics, records.counts, tasks=tasks))
            records.hear = heard.hear
            service = stack.enter_context(
                serve(
                    host,
                    control.scheduler,
                    control.options,
                    where,
                    shadow=control.shadow,
                    on_decision=records.answered,
                )
            )
            records.count, heard.seen = service.counts, lambda: _running(service, control)
            _introduce(service, control)
            follows = pace.replan or control.priorities is not None
            if not follows and not host.has(control.scheduler, "headworks_analyse"):
                say(f"{control.scheduler} has no analysis: running executors stay where they are (--replan moves them)")
                _await_nimbus(service)
                threading.Event().wait()  # until a signal: the bridge answers rounds from threads of its own
            loop = Loop(host, control, service.target, records.journal, counts=records.counts)
            return run_rounds(loop, pace, show=records.show, hear=heard.hear)


def _running(service: Service, control: Control) -> Request | None:
    seen = service.seen(control.window)
    return None if seen is None else Request.of(seen, limits=control.limits, seed=control.seed)


def _await_nimbus(service: Service) -> None:
    """Say when Nimbus asks for the first time, and once if it does not: nothing else would show that."""
    said = ""
    while service.target.rounds.newest is None:
        try:
            service.target.latest()
        except EngineError as error:
            if not said:
                say(said := str(error))
    say("Nimbus asks, and is answered: rounds that place executors are shown")


def _introduce(service: Service, control: Control) -> None:
    """Print the settings that the operator has to write into each `storm.yaml`."""
    say(f"{control.scheduler} answers Nimbus, whose storm.yaml has to say:")
    say(_yaml(service.nimbus_conf() | ({"headworks.shadow": True} if control.shadow else {})))
    if conf := service.worker_conf():
        say("workers report where the storm.yaml of their supervisor says:")
        say(_yaml(conf))
    if control.shadow:
        say("shadow: plans are made and reported, Storm's own scheduler acts")


def _yaml(conf: dict[str, Any]) -> str:
    """Settings as lines of YAML, each value as JSON, which YAML contains."""
    return "\n".join(f"  {key}: {json.dumps(value)}" for key, value in conf.items())
