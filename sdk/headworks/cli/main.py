"""`headworks`: the group of all commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import importlib
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from headworks.cli.logs import LEVELS, line, show_logs
from headworks.cli.output import log_json_option
from headworks.cli.summaries import Summaries
from headworks.errors import DocumentError, HeadworksError, known_names
from headworks.interrupts import handled, pending_signal
from headworks.plugins.own_process import claim_stdout, collect_seldom

if TYPE_CHECKING:
    from collections.abc import Sequence

BUILT_IN = {
    "compare": "headworks.cli.commands.compare",
    "completion": "headworks.cli.commands.completion",
    "conform": "headworks.cli.commands.conform",
    "doctor": "headworks.cli.commands.doctor",
    "journal": "headworks.cli.commands.journal",
    "metrics": "headworks.cli.commands.metrics",
    "new": "headworks.cli.commands.new",
    "plan": "headworks.cli.commands.plan",
    "plugins": "headworks.cli.commands.plugins",
    "report": "headworks.cli.commands.report",
    "run": "headworks.cli.commands.run",
    "schema": "headworks.cli.commands.schema",
    "watch": "headworks.cli.commands.watch",
    "what-if": "headworks.cli.commands.what_if",
    "why": "headworks.cli.commands.why",
    "workloads": "headworks.cli.commands.workloads",
}
"""Commands of the core: name, and the module that holds `command`."""

FILE = "headworks.toml"
"""Options that hold in a folder and below it: those of each command in a table."""
WORDS = "headworks.cli.words"
"""In `Context.meta`: what was typed, the name of the command first."""
LOG = logging.getLogger("headworks.cli")

LIMIT = 8.0
"""Seconds that a command has for its end once a signal came; what it started is then ended by the reaper alone."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a write to standard output that say that it takes no more."""

REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, errno.EEXIST),
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ELOOP, errno.ENAMETOOLONG),
)
"""Errors by which the system refuses a file or a folder: no fault of the code that asks for it."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

EPILOG = "Exit codes: 0 done, 1 infeasible or findings, 2 wrong use or input, 3 plugin failed, 4 engine out of reach."


class _RefusedError(HeadworksError):
    exit_code = 2


SECTIONS = {
    "Plan": ("plan", "why", "what-if", "compare", "simulate", "sweep", "workloads", "reproduce"),
    "Run": ("run", "serve", "demo", "spark", "storm", "yarn", "import"),
    "Extend": ("new", "conform", "plugins", "schema"),
    "Operate": ("doctor", "watch", "report", "journal", "metrics", "priority", "pipeline", "completion"),
}
"""Commands by what they are for, in the order of the help. Those of strangers extend Headworks."""


class Commands(Summaries):
    """Commands that are imported when they are used; those of plugins join the built-in ones."""

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Names of commands by section, in the order of the help."""
        found = {title: [name for name in some if name in names] for title, some in SECTIONS.items()}
        known = {name for some in SECTIONS.values() for name in some}
        found["Extend"] += [name for name in names if name not in known]
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        # Plugins' entry points are read only where a command is none of the core's, or all are listed.
        from headworks.cli.plugin_commands import names

        return sorted({*BUILT_IN, *names(), *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command.

        Returns:
            The command, None if neither the core nor a plugin has it.
        """
        if cmd_name in BUILT_IN:
            found: click.Command = importlib.import_module(BUILT_IN[cmd_name]).command
            return found
        # Plugins' entry points are read only where a command is none of the core's, or all are listed.
        from headworks.cli.plugin_commands import find

        return super().get_command(ctx, cmd_name) or find(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called.

        Raises:
            UsageError: There is no such command; one that was perhaps meant is named.
        """
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command {name!r}{known_names(name, self.list_commands(ctx))}", ctx)
        ctx.meta[WORDS] = tuple(args)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command; where the system refuses a file, its name and the reason are all that a user needs.

        Raises:
            HeadworksError: The system refuses a file or a folder.
        """
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno not in REFUSED or error.filename is None:
                raise
            LOG.debug("where the system refuses %s", error.filename, exc_info=error)
            raise _RefusedError(f"{error.filename}: {error.strerror} (headworks -vv shows where)") from error


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headworks", prog_name="headworks")
@click.option("-v", "--verbose", count=True, help="Show more of the log on stderr; twice for all of it.")
@click.option("--log-level", type=click.Choice(LEVELS), help="Show the log from this level on; HEADWORKS_LOG does too.")
@click.option("--traceback", is_flag=True, help="Show where plugins fail: the traceback of each error.")
@log_json_option
@click.pass_context
def headworks(context: click.Context, /, *, verbose: int, log_level: str | None, traceback: bool) -> None:
    """Plan, compare and run schedulers for stream processing."""
    named = log_level or ("", "info", "debug")[min(verbose, 2)]
    show_logs(named, tracebacks=traceback)
    if (file := find_file(_here())) is not None:
        # What reads files costs 0.1 s, and most folders have none.
        from headworks.cli.settings import take_defaults

        LOG.info("options are those of %s", file)
        take_defaults(context, file, context.meta[WORDS])


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise _RefusedError(f"this folder is not there any more ({error.strerror}): go to another one") from error


def find_file(folder: Path) -> Path | None:
    """The file of options that holds in a folder: its own, or that of the nearest folder above."""
    return next((each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()), None)


def main() -> NoReturn:
    """Run the command line; a user's mistake is one message and an exit code, never a traceback."""
    claim_stdout()
    collect_seldom()
    with handled(LIMIT) as signals:
        try:
            code = _written(_run())
        except KeyboardInterrupt:  # a second signal, while the first one was dealt with
            code = INTERRUPTED
        if signals is not None:
            signals.hold()  # what comes now comes too late
            code = 128 + signals.number if signals.number else code
        if code == INTERRUPTED or pending_signal():
            with contextlib.suppress(OSError):  # the terminal may have gone
                click.echo(line("interrupted", level=logging.WARNING), err=True)
        _leave(code)


def _run() -> int:
    """Run the command line; its exit code."""
    try:
        code = headworks.main(standalone_mode=False)
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error = _with_hint(error)
        error.show()
        return error.exit_code
    except HeadworksError as error:
        if not pending_signal():  # else it is what an engine says of its end
            click.echo(line(f"headworks: {error}", level=logging.ERROR), err=True)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            return _unwritten(error)
        if not pending_signal():
            raise
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _with_hint(error: click.ClickException) -> click.ClickException:
    """The error, which names the option that is meant where one differs from it in its case alone."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    meant = error.option_name.swapcase()
    if not any(meant in each.opts for each in error.ctx.command.params):
        return error
    return click.UsageError(f"{error.format_message()} Did you mean {meant!r}?", error.ctx)


def _written(code: int) -> int:
    """The exit code once all of standard output is written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = sys.stderr  # nobody reads the rest
    except OSError as error:
        return _unwritten(error)
    return code


def _unwritten(error: OSError) -> int:
    # Python writes what is left once more as it ends.
    sys.stdout = sys.stderr
    with contextlib.suppress(OSError):
        said = f"headworks: standard output cannot be written: {error.strerror}"
        click.echo(line(said, level=logging.ERROR), err=True)
    return DocumentError.exit_code


def _leave(code: int) -> NoReturn:
    """End the process; an abandoned plugin may be in native code, or wait for threads, and must not hold it up."""
    safety = sys.modules.get("headworks.plugins.guard")
    if safety is not None and safety.abandoned():
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
