"""Mistakes in the words of `headworks storm move` and `headworks storm scale`, of which no cluster is asked."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from headworks_storm.cli.group import storm


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("move", "words", "count", "127.0.0.1:6700"), "'count' is not a COMPONENT/INDEX, such as count/3"),
        (("move", "words", "count/x", "127.0.0.1:6700"), "'count/x' is not a COMPONENT/INDEX, such as count/3"),
        (("move", "words", "count/1"), "name HOST:PORT, to which the task is to move, or --cancel"),
        (("move", "words", "count/1", "127.0.0.1:6700", "--cancel"), "name HOST:PORT, to which the task"),
        (("scale", "words", "split"), "'split' is not a COMPONENT=COUNT, such as split=3"),
        (("scale", "words", "split=-1"), "'split=-1' is not a COMPONENT=COUNT, such as split=3"),
    ],
)
def test_a_word_that_is_none_is_named_and_an_example_given(words, said):
    result = CliRunner().invoke(storm, words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())
