"""`headworks run`: the control loop against a live engine."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headworks.cli.installed import plugin_names, plugins
from headworks.cli.output import json_option, log_json_option
from headworks.cli.parameters import samples_options, with_settings
from headworks.cli.request import option_option, scheduler_option
from headworks.cli.rounds import (
    RoundTexts,
    journal_option,
    loop_settings,
    make_journal,
    metrics_option,
    metrics_tasks_option,
    run_rounds,
    show_round,
    watched,
)
from headworks.cli.settings import Configured, Pace, make
from headworks.plugins.own_process import native_to_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from threading import Event

    from headworks.control.journal import Round
    from headworks.control.loop import Control
    from headworks.plugins.host import PluginHost
    from headworks.samples.topic import TopicAddress


C = TypeVar("C", bound="Callable[..., Any]")


def _launch(context: click.Context, parameter: click.Parameter, value: str | tuple[str, ...] | None) -> None:
    """Keep an option of an engine's launcher as it was typed."""
    values = (value,) if isinstance(value, str) else value or ()
    context.meta.setdefault(__name__, []).extend(word for each in values for word in (parameter.opts[0], each))


def _launch_option(name: str, metavar: str, text: str, *, multiple: bool = False) -> Callable[[C], C]:
    text = f"{text}, as spark-submit has it."
    return click.option(name, metavar=metavar, multiple=multiple, expose_value=False, callback=_launch, help=text)


@click.command("run", cls=Configured, settings=loop_settings, context_settings={"allow_interspersed_args": False})
@click.option(
    "--engine",
    required=True,
    shell_complete=plugin_names("headworks_open"),
    help="Plugin that watches and steers the engine, such as spark.",
)
@scheduler_option
@option_option
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
@_launch_option("--conf", "NAME=VALUE", "Setting of the engine", multiple=True)
@_launch_option("--packages", "COORDINATES", "Packages that the application needs")
@_launch_option("--properties-file", "FILE", "File of settings")
@samples_options("measurements")
@journal_option
@metrics_option
@metrics_tasks_option
@log_json_option
@json_option
@click.argument("application", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    engine: str,
    scheduler: str,
    options: dict[str, Any],
    master: str | None,
    samples: Path | TopicAddress | None,
    kafka_conf: Path | None,
    journal: Path | None,
    metrics: tuple[str, int] | None,
    metrics_tasks: int,
    as_json: bool,
    application: tuple[str, ...],
    **settings: Any,
) -> None:
    """Run APPLICATION on an engine and place its tasks, round after round.

    For `--engine spark`, APPLICATION is a Python file, which runs as spark-submit would run it. The command ends with
    it and has its exit code. Words after it are its own arguments. With --json each round is one line, and the output
    of the application goes to stderr.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.control.loop import Control, Loop
    from headworks.samples.store import Keeper, open_sink

    host, launch = plugins(context), tuple(context.meta.get(__name__, ()))
    host.options(scheduler, options)
    control = make(Control, settings, engine=engine, scheduler=scheduler, options=options)
    _refuse_without_effect(host, engine, control, launch)
    pace, recorded, stdout = make(Pace, settings), make_journal(journal), sys.stdout
    texts, where = RoundTexts(as_json=as_json), with_settings(samples, kafka_conf)

    def rounds(target: Any, ended: Event | None = None) -> int:
        def show(done: Round) -> None:
            if ended is None or not ended.is_set():  # what ends a round with its application is no news
                show_round(done, stdout, texts)

        if pace.rounds is None and hasattr(target, "wait"):
            raise click.UsageError(f"time on {engine} is not real, so its rounds would never end: give --rounds")
        moment = getattr(target, "moment", time.time)
        keep = Keeper(sink, engine, moment).keep if sink is not None else None
        clock, wait = getattr(target, "clock", time.monotonic), getattr(target, "wait", time.sleep)
        loop = Loop(apart, control, target, recorded, keep=keep, clock=clock)
        return run_rounds(loop, pace, show=show, hear=heard.hear, wait=wait if ended is None else ended.wait)

    threads, processes = control.isolation == "thread", control.isolation == "process"
    with (
        open_sink(where) if where is not None else contextlib.nullcontext() as sink,
        host.isolated(wanted=not threads, built_in=processes) as apart,
        watched(engine, apart, metrics, tasks=metrics_tasks) as heard,
    ):
        if host.has(engine, "headworks_run"):
            with _printing_to_stderr() if as_json else contextlib.nullcontext():
                code = apart.run(engine, application, master, launch, rounds)
        else:
            with apart.open(engine, application, master) as target:
                code = 1 if rounds(target) else 0
    context.exit(code)


def _refuse_without_effect(host: PluginHost, engine: str, control: Control, launch: Sequence[str]) -> None:
    """Refuse what is no engine, and options that have no effect on it."""
    if control.fleet is not None and not host.has(engine, "headworks_scale"):
        raise click.UsageError(f"{engine} cannot add or drain nodes, so --elastic has no effect there")
    host.plugin(engine, "headworks_open")
    if launch and not host.has(engine, "headworks_run"):
        raise click.UsageError(f"{engine} launches no application, so {launch[0]} has no effect there")


@contextlib.contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Send what all threads print to stderr, and what native code does."""
    with native_to_stderr(), contextlib.redirect_stdout(sys.stderr):
        yield
