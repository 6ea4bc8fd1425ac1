"""What `headgate run --engine sim` opens: a request, simulated from time 0."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import attrs
import click

from headgate.errors import EngineError
from headgate_sim.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from headgate_sim.target import SimTarget

STYLES = ("executor", "worker", "rebalance")


def timing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a simulated engine: how tasks move, how often supervisors and workers look, what happens."""
    for option in (
        click.option("--trace", type=click.Path(dir_okay=False), help="Document of what happens when."),
        click.option("--style", type=click.Choice(STYLES), help="How tasks move; alone by default."),
        click.option("--supervisor-cycle", type=click.FloatRange(min=0), help="T_S, seconds."),
        click.option("--worker-cycle", type=click.FloatRange(min=0), help="T_W, seconds."),
        click.option("--kill-delay", type=click.FloatRange(min=0), help="D_K, seconds."),
        click.option("--seed", default=0, show_default=True, help="Of the moments at which supervisors look."),
    ):
        command = option(command)
    return command


def make_timing(settings: dict[str, Any]) -> Timing:
    """The timing that options ask for; what they leave out is the default."""
    known = {field.name for field in attrs.fields(Timing)}
    return Timing(**{name: value for name, value in settings.items() if name in known and value is not None})


@click.command("sim", add_help_option=False)
@click.argument("request")
@timing_options
def _parser(**_settings: Any) -> None:
    """Only its parser is used."""


@contextlib.contextmanager
def open_application(application: Sequence[str], address: str | None) -> Iterator[SimTarget]:
    """Simulate a request.

    Args:
        application: A request document or PLUGIN:WORKLOAD, then options: `--trace FILE`, `--style`,
            `--supervisor-cycle`, `--worker-cycle`, `--kill-delay`, `--seed`.
        address: There is none.

    Raises:
        EngineError: There is no request, an address is given, or an option is unknown.
        DocumentError: The request or the trace is wrong.
    """
    from headgate.api import find_request
    from headgate.plugins.host import PluginHost
    from headgate_sim.target import SimTarget
    from headgate_sim.trace import read_trace
    from headgate_sim.world import World

    if address is not None:
        raise EngineError(f"a simulation has no address, {address!r} was given: leave --master out")
    try:
        settings = _parser.make_context("sim", list(application)).params
    except click.UsageError as error:
        raise EngineError(f"headgate run --engine sim ... REQUEST [OPTIONS]: {error.format_message()}") from None
    request = find_request(settings["request"], PluginHost.load())
    trace = read_trace(settings["trace"]) if settings["trace"] else None
    world = World(request, timing=make_timing(settings), trace=trace, seed=settings["seed"])
    yield SimTarget(world=world)
