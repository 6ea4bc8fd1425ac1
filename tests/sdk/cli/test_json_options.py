"""Every command takes `--json`, as the page of commands says."""

from __future__ import annotations

import click
import pytest

from headgate.cli.main import headgate


def leaves(group, *words):
    """The commands below a group, by their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, *words, name)
        else:
            yield (*words, name), command


EVERY = dict(leaves(headgate))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_a_command_takes_json(words):
    assert "--json" in {name for each in EVERY[words].params for name in each.opts}
