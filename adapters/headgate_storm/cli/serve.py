"""`headgate serve storm`: the process beside Nimbus that answers its rounds and runs the control loop."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.control import control_options, make_control, make_journal, run_rounds, show_round
from headgate.cli.output import json_option, say
from headgate.cli.request import option_option

if TYPE_CHECKING:
    from headgate.control.journal import Journal
    from headgate.control.loop import Control
    from headgate.plugins.host import PluginHost
    from headgate_storm.nimbus.rounds import Decision
    from headgate_storm.nimbus.snapshot import Snapshot
    from headgate_storm.service import Places, Service


def _read_config(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Options from the table [serve.storm] of a TOML file, as defaults of the command line's."""
    import tomllib

    if path is None:
        return None
    try:
        table = tomllib.loads(path.read_text()).get("serve", {}).get("storm", {})
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from None
    known = {parameter.name for parameter in context.command.params}
    given = {name.replace("-", "_"): value for name, value in table.items()}
    for name in sorted(given.keys() - known):
        raise click.BadParameter(f"{path}: [serve.storm] has no {name!r}; known: {', '.join(sorted(map(str, known)))}")
    context.default_map = {**(context.default_map or {}), **given}
    return path


def _address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    if not (colon and host and port.isdigit() and int(port) < 65536):
        raise click.BadParameter(f"{value!r} is no HOST:PORT")
    return host, int(port)


@click.group()
def serve() -> None:
    """Serve an engine that asks for its schedule."""


@serve.command("storm")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    callback=_read_config,
    help="TOML file whose table [serve.storm] holds these options.",
)
@click.option("-s", "--scheduler", default="resource-aware", show_default=True, help="Name of a scheduler.")
@option_option
@click.option(
    "--endpoint",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write for Nimbus, which names it as headgate.endpoint.",
)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Where to listen; by default any free port.")
@click.option("--collector", callback=_address, metavar="HOST:PORT", help="Where to take the reports of workers.")
@click.option(
    "--token",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the secret of workers; made if it is not there, by default beside the endpoint.",
)
@click.option(
    "--samples", type=click.Path(file_okay=False, path_type=Path), help="Keep what workers report here, as Parquet."
)
@control_options
@json_option
@click.pass_context
def storm(
    context: click.Context,
    /,
    *,
    config: Path | None,  # noqa: ARG001 - read by its callback
    scheduler: str,
    options: dict[str, Any],
    endpoint: Path,
    port: int,
    collector: tuple[str, int] | None,
    token: Path | None,
    samples: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Answer the scheduling rounds of a Storm cluster, and run the control loop on it.

    Executors without a slot are placed in the round that shows them. Running executors move when the scheduler's
    analysis of what was measured calls for it; those of a scheduler without an analysis stay, but for --replan.
    """
    from headgate.plugins.host import PluginHost
    from headgate_storm.service import Places

    if samples is not None and collector is None:
        raise click.UsageError("--samples keeps what workers report: give --collector HOST:PORT as well")
    host = PluginHost.load()
    host.options(scheduler, options)
    control = make_control("storm", scheduler, options, settings)
    places = Places(endpoint=endpoint, port=port, collector=collector, token=token, samples=samples)
    bad = _serve(host, control, places, settings, as_json=as_json)
    context.exit(1 if bad else 0)


def _serve(host: PluginHost, control: Control, places: Places, settings: dict[str, Any], *, as_json: bool) -> int:
    from headgate.control.loop import Loop
    from headgate_storm.service import serve

    journal = make_journal(settings["journal"])

    def record(snapshot: Snapshot, decision: Decision) -> None:
        _record(snapshot, decision, journal, as_json=as_json)

    with serve(host, control.scheduler, control.options, places, shadow=control.shadow, on_decision=record) as service:
        _introduce(service, control)
        if not settings["replan"] and not host.has(control.scheduler, "headgate_analyse"):
            say(f"{control.scheduler} has no analysis: running executors stay where they are (--replan moves them)")
            threading.Event().wait()
        return run_rounds(Loop(host, control, service.target, journal), settings, as_json=as_json)


def _introduce(service: Service, control: Control) -> None:
    """Say what the operator has to write where."""
    say(f"{control.scheduler} answers Nimbus, whose storm.yaml has to say:")
    say(_yaml(service.nimbus_conf()))
    if conf := service.worker_conf():
        say("workers report where the storm.yaml of their supervisor says:")
        say(_yaml(conf))
    if control.shadow:
        say("shadow: plans are made and reported, Storm's own scheduler acts")


def _yaml(conf: dict[str, Any]) -> str:
    """Settings as lines of YAML, each value as JSON, which YAML contains."""
    return "\n".join(f"  {key}: {json.dumps(value)}" for key, value in conf.items())


def _record(snapshot: Snapshot, decision: Decision, journal: Journal, *, as_json: bool) -> None:
    """Show and journal a round of Nimbus in which executors were placed."""
    from headgate.control.round import Round
    from headgate.documents import unstructure

    answer = decision.answer
    message = f"Nimbus has {len(snapshot.unassigned)} executors without a slot"
    if answer.mode == "hold":
        done = Round(number=snapshot.round, outcome="held", message=f"{message}: {answer.reason}")
    else:
        texts = "; ".join(f"{topology}: {text}" for topology, text in sorted(answer.status.items()))
        message = f"{message}; {texts}"
        done = Round(
            number=snapshot.round, outcome="answered", message=message, plan=decision.plan, request=decision.request
        )
    journal.append(unstructure(done))
    show_round(done, as_json=as_json)
