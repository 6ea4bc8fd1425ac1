"""The application of `headworks run --engine sim`: a request, simulated from time 0."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from headworks.cli.settings import make, option_of, settings_of
from headworks.errors import EngineError, OptionError
from headworks_sim.fluid.timing import Draws, Timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from headworks_sim.target import SimTarget

SETTINGS = settings_of(Timing, Draws)
"""Settings of a simulated engine, wherever there is one: how tasks move, how often supervisors and workers look, the
seed."""
trace_option = click.option("--trace", type=click.Path(dir_okay=False), help="Document of events and their times.")


@click.command("sim", add_help_option=False, params=[option_of(each) for each in SETTINGS])
@click.argument("request")
@trace_option
def _parser(**_settings: Any) -> None:
    """A command that is never run: its parser reads what follows the engine's name."""


@contextlib.contextmanager
def open_application(application: Sequence[str], address: str | None) -> Iterator[SimTarget]:
    """Simulate a request.

    Args:
        application: A request document or PLUGIN:WORKLOAD, then options: `--trace FILE`, `--style`,
            `--supervisor-cycle`, `--worker-cycle`, `--kill-delay`, `--seed`.
        address: None; a simulation has no address.

    Raises:
        EngineError: An address is given.
        OptionError: There is no request, or an option is unknown.
        DocumentError: The request or the trace is wrong.
    """
    # numpy and cattrs cost 0.3 s, which the list of commands, whose settings are here, does not need.
    from headworks import PluginHost
    from headworks.api import find_request
    from headworks_sim.fluid.trace import naming, read_trace
    from headworks_sim.fluid.world import World
    from headworks_sim.target import SimTarget

    if address is not None:
        raise EngineError(f"a simulation has no address, {address!r} was given: leave --master out")
    try:
        settings = _parser.make_context("sim", list(application)).params
    except click.UsageError as error:
        raise OptionError(
            f"headworks run --engine sim ... REQUEST [OPTIONS]: {error.format_message()} Other options, such as"
            " --rounds, stand before REQUEST."
        ) from None
    # A host of its own, to find PLUGIN:WORKLOAD: hooks are not given the caller's, with which a plugin could reach any
    # other. It reads the names of entry points and imports the one plugin.
    request = find_request(settings["request"], PluginHost.load())
    trace = read_trace(settings["trace"]) if settings["trace"] else None
    with naming(settings["trace"]):
        world = World(request, timing=make(Timing, settings), trace=trace, seed=settings["seed"])
    yield SimTarget(world=world)
