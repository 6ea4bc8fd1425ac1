"""`headworks conform`: does a scheduler, or an engine's adapter, keep its contract?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.installed import plugin_names, plugins, rules
from headworks.cli.logs import show_logs
from headworks.cli.output import Coloured, emit, json_option, say, steps, table
from headworks.cli.parameters import FiniteRange
from headworks.cli.request import option_option
from headworks.errors import UnknownPluginError

if TYPE_CHECKING:
    from headworks.plugins.host import PluginHost
    from headworks.testing.conform import Conformance
    from headworks.testing.engines.trial import EngineTrial

SECONDS = FiniteRange(min=0, min_open=True)
MARK = {"ok": Coloured("ok", "green"), "failed": Coloured("FAILED", "red"), "skipped": Coloured("skipped", "yellow")}

NO_OPENING = (
    "{name} asks for its plans by itself and cannot be opened from here: judge it by a test of your own, a subclass of "
    "headworks.testing.EngineContract whose EngineTrial has an `opener`"
)
"""Said of an engine without `headworks_open`."""


@click.command("conform")
@click.argument("name", required=False, shell_complete=plugin_names("headworks_schedule", "headworks_open"))
@click.argument("application", nargs=-1)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the cases for a scheduler.")
@option_option
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="Folder for the requests that break rules."
)
@click.option(
    "--explain",
    metavar="RULE",
    shell_complete=rules,
    help="Print only the promise of a rule, and the requests on which it is tried.",
)
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
@click.option("--window", type=SECONDS, default=5.0, show_default=True, help="Seconds to measure an engine.")
@click.option(
    "--budget", type=SECONDS, default=30.0, show_default=True, help="Seconds that measuring may take beyond the window."
)
@click.option(
    "--patience", type=SECONDS, default=60.0, show_default=True, help="Seconds in which a loss or the end must be seen."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    name: str | None,
    application: tuple[str, ...],
    seed: int,
    options: dict[str, Any],
    save: Path | None,
    explain: str | None,
    master: str | None,
    window: float,
    budget: float,
    patience: float,
    as_json: bool,
) -> None:
    """Check the scheduler or the engine NAME against every rule of its contract, a line each.

    An engine runs APPLICATION, as `headworks run` does: on at least two nodes, with room for a task to move. Options of
    the application follow `--`.

    For each broken rule you get its words, the smallest request found that breaks it, and the command that plans that
    request again. If the scheduler raises, its traceback is shown.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.testing.engines.trial import EngineTrial

    if explain is not None:
        _explain(explain, as_json=as_json)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME'.")
    show_logs("", tracebacks=True)
    host = plugins(context)
    if name in host and host.has(name, "headworks_observe") and not host.has(name, "headworks_open"):
        raise UnknownPluginError(NO_OPENING.format(name=name))
    if application or (name in host and host.has(name, "headworks_open")):
        trial = EngineTrial(
            engine=name, application=application, address=master, window=window, budget=budget, patience=patience
        )
        context.exit(_engine(host, trial, as_json=as_json))
    host.options(name, options)  # a name or an option that there is not is refused before anything is said
    context.exit(_scheduler(host, name, seed, options, save, as_json=as_json))


def _scheduler(
    host: PluginHost, name: str, seed: int, options: dict[str, Any], save: Path | None, *, as_json: bool
) -> int:
    """Show the report of a scheduler; the exit code."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure
    from headworks.testing.conform import conform
    from headworks.testing.rules import RULES

    with steps(name, len(RULES), "rules") as tell:
        found = conform(name, seed=seed, host=host, options=options, tell=tell)
    rows = [(MARK[row.status], row.rule, row.requests or "", row.detail) for row in found.rules]
    report = table(name, ("", "rule", "requests", "detail"), rows, numbers=("requests",))
    emit(unstructure(found), report, as_json=as_json)
    for line in _failures(found, options, save):
        say(line)
    return 0 if found.passed else 1


def _engine(host: PluginHost, trial: EngineTrial, *, as_json: bool) -> int:
    """Show the report of an engine; the exit code."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure
    from headworks.testing.engines.conform import HOOKS, conform_engine
    from headworks.testing.engines.rules import ENGINE_RULES

    for hook in HOOKS:  # what is no engine is refused before anything is said
        host.plugin(trial.engine, hook)
    with steps(trial.engine, len(ENGINE_RULES) + 1) as tell:
        found = conform_engine(trial, host, tell=tell)
    rows = [(MARK[row.status], row.rule, row.detail) for row in found.rules]
    emit(unstructure(found), table(trial.engine, ("", "rule", "detail"), rows), as_json=as_json)
    for row in found.rules:
        if row.status == "failed":
            say(f"{row.rule}: {row.statement}")
    return 0 if found.passed else 1


def _failures(found: Conformance, options: dict[str, Any], save: Path | None) -> list[str]:
    """Lines on each broken rule: its promise, and how to see it. The requests are written if there is a folder."""
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.documents import write
    from headworks.model import Request

    told = "".join(f" -o {name}={value}" for name, value in options.items())
    lines = []
    for row in found.rules:
        if row.status != "failed":
            continue
        lines.append(f"{row.rule}: {row.statement} {_size(row.example)}")
        if not isinstance(row.example, Request):
            continue
        if save is None:
            lines.append("    --save DIR writes it, to be planned again")
            continue
        path = save / f"{found.scheduler}-{row.rule}.json"
        write(path, row.example)
        lines.append(f"    headworks --traceback plan {path} -s {found.scheduler}{told}")
    return lines


def _size(example: Any) -> str:
    if example is None:
        return "It takes more than one request to break it."
    tasks = sum(component.parallelism for topology in example.topologies for component in topology.components)
    return f"A request of {tasks} tasks on {len(example.cluster.nodes)} nodes breaks it."


def _explain(name: str, *, as_json: bool) -> None:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.errors import known_names
    from headworks.testing.engines.rules import ENGINE_RULES
    from headworks.testing.rule import MEANING
    from headworks.testing.rules import RULES

    rules = {rule.id: rule for rule in RULES}
    engines = {rule.id: rule for rule in ENGINE_RULES}
    if name in engines:
        told = {
            "rule": name,
            "statement": engines[name].statement,
            "binds": "every engine",
            "tried_on": "one application",
        }
        emit(told, f"{name}: {told['statement']}", "It binds every engine, on an application.", as_json=as_json)
        return
    if name not in rules:
        raise click.UsageError(f"there is no rule {name!r}{known_names(name, [*rules, *engines])}")
    rule = rules[name]
    who = f"schedulers that declare {rule.needs!r}: {MEANING[rule.needs]}" if rule.needs else "every scheduler"
    size = "small requests, on which every placement can be tried" if rule.small else "requests of every kind"
    data = {"rule": rule.id, "statement": rule.statement, "binds": who, "tried_on": size}
    emit(data, f"{rule.id}: {rule.statement}", f"It binds {who}.", f"It is tried on {size}.", as_json=as_json)
