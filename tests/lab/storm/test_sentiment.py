"""Sentiments of a text: the lexicon, what is said without it, and scores in Storm's local mode as Python has them."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter

import pytest

from headworks.errors import DocumentError
from headworks_storm.workload.catalogue import roles_of, sentiment
from headworks_storm.workload.describe import describe
from headworks_storm.workload.find import contents, default_text, lexicon
from storm_local_mode import LocalMode


@pytest.fixture(scope="module", autouse=True)
def afinn():
    if importlib.util.find_spec("afinn") is None:
        pytest.skip("needs afinn")


def test_the_lexicon_is_afinn_s_single_words():
    values = lexicon()
    assert (values["good"], values["bad"], values["outstanding"], values["bastard"]) == (3, -3, 5, -5)
    assert len(values) > 2000
    assert all(word == word.lower() and word.isalnum() and -5 <= value <= 5 for word, value in values.items())


def test_only_roles_that_read_something_are_given_it(monkeypatch):
    assert contents({"a": "page-views"}) == {}
    assert contents({"a": "text", "b": "count"}, "one line") == {"text": "one line"}
    assert contents({"a": "text"}) == {"text": default_text()}
    assert contents(roles_of(sentiment())) == {"text": default_text(), "lexicon": lexicon()}
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(DocumentError, match=r"pip install 'headworks\[sentiment\]'"):
        contents({"a": "score"})
    assert contents({"a": "text"}) == {"text": default_text()}


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_each_line_has_the_score_of_its_words(java, tmp_path):
    mode = LocalMode(tmp_path)
    mode.compile()
    described = describe(sentiment(), roles=roles_of(sentiment()), **contents(roles_of(sentiment())))
    found, values = mode.emitted(tmp_path, described, "score", 500), lexicon()
    for name, score, line in found:
        assert score == sum(values.get(word, 0) for word in re.findall(r"[^\W_]+", line.lower()))
        assert name == ("positive" if score > 0 else "negative" if score < 0 else "neutral")
    assert {line for _, _, line in found} <= set(default_text().splitlines())
    assert min(Counter(name for name, _, _ in found).values()) > 0
    assert len({name for name, _, _ in found}) == 3
