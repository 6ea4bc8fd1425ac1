"""`headworks completion`: the script by which a shell completes commands, options and names."""

from __future__ import annotations

import json

import click
from click.shell_completion import get_completion_class

VARIABLE = "_HEADWORKS_COMPLETE"
"""Variable by which the script asks for completions; click looks for it under this name."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--json", "as_json", is_flag=True, help="Print the script as JSON.")
@click.pass_context
def command(context: click.Context, /, *, shell: str, as_json: bool) -> None:
    """Print the script that completes commands, options and names in SHELL.

    In bash run `eval "$(headworks completion bash)"`, in zsh the same with zsh, and in fish
    `headworks completion fish | source`.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    script = found(context.find_root().command, {}, "headworks", VARIABLE).source()
    click.echo(json.dumps(script) if as_json else script)
