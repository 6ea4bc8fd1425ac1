"""Sentiments of a text: the word list, and scores in Storm's local mode as Python has them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from headworks.plugins.host import PluginHost
from headworks_lab.storm.lexicon import LEXICON
from headworks_lab.storm.workload import details_of, sentiment
from headworks_storm.workload.catalogue import word_count
from headworks_storm.workload.describe import Load, describe
from headworks_storm.workload.find import default_text, find_submission
from storm_local_mode import LocalMode


def test_the_word_list_has_single_words_of_both_kinds():
    assert (LEXICON["good"], LEXICON["bad"], LEXICON["wonderful"], LEXICON["useless"]) == (3, -3, 4, -1)
    assert all(word == word.lower() and word.isalnum() and -5 <= value <= 5 for word, value in LEXICON.items())


def test_only_roles_that_read_something_are_given_it():
    assert details_of(sentiment()).keys() == {"roles", "text", "lexicon"}
    assert details_of(word_count()).keys() == {"roles", "text"}
    submission = find_submission("storm-lab:sentiment", PluginHost.load())
    (described,) = submission.described(load=Load(), text="a good day")
    assert (described["text"], described["lexicon"]["good"]) == ("a good day", 3)


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_each_line_has_the_score_of_its_words(java, tmp_path):
    mode = LocalMode(tmp_path)
    mode.compile()
    described = describe(sentiment(), **details_of(sentiment()))
    found = mode.emitted(tmp_path, described, "score", 500)
    for name, score, line in found:
        assert score == sum(LEXICON.get(word, 0) for word in re.findall(r"[^\W_]+", line.lower()))
        assert name == ("positive" if score > 0 else "negative" if score < 0 else "neutral")
    assert {line for _, _, line in found} <= set(default_text().splitlines())
    assert min(Counter(name for name, _, _ in found).values()) > 0
    assert len({name for name, _, _ in found}) == 3
