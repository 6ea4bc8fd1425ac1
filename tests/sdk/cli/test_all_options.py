"""What the page of commands says of all of them: every one takes `--json`, and a letter means the same everywhere."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import click
import pytest

from headworks.cli.main import headworks

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"


def commands(command, *words):
    """A command and all below it, by their words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), *words, name)


EVERY = dict(commands(headworks))
RUN = {words: each for words, each in EVERY.items() if not isinstance(each, click.Group) or each.invoke_without_command}


def letters():
    """The options of one letter, each with its long names and the commands that have it."""
    found = defaultdict(lambda: defaultdict(list))
    for words, command in EVERY.items():
        for each in command.get_params(click.Context(command)):
            long = frozenset(name for name in each.opts if name.startswith("--"))
            for name in (*each.opts, *each.secondary_opts):
                if re.fullmatch("-[^-]", name):
                    found[name][long].append(" ".join(words))
    return found


LETTERS = letters()


@pytest.mark.parametrize("words", RUN, ids=" ".join)
def test_a_command_takes_json(words):
    assert "--json" in {name for each in RUN[words].params for name in each.opts}


@pytest.mark.parametrize("letter", LETTERS)
def test_a_letter_is_one_option_in_every_command(letter):
    assert len(LETTERS[letter]) == 1, dict(LETTERS[letter])


@pytest.mark.parametrize(
    ("name", "letter"), [("--scheduler", "-s"), ("--option", "-o"), ("--output", "-O"), ("--workload", "-w")]
)
def test_an_option_of_many_commands_has_its_letter_in_each(name, letter):
    every = [
        (words, each.opts) for words, command in EVERY.items() for each in command.get_params(click.Context(command))
    ]
    assert [words for words, names in every if name in names and letter not in names] == []


def test_the_page_has_every_letter_and_no_other():
    (told,) = re.findall(r"^.* A letter means the same everywhere: (.*?)\.$", PAGE.read_text(), re.M | re.S)
    assert set(re.findall("`(-[a-zA-Z])", told)) == set(LETTERS) - {"-h"}
