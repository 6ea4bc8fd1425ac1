from __future__ import annotations

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.model import Limits, Observation, Request
from headworks.problem import Problem
from small_requests import word_count


def test_a_request_asks_about_what_was_observed():
    asked = word_count()
    seen = Observation(cluster=asked.cluster, topologies=asked.topologies)
    made = Request.of(seen, limits=Limits(max_moves=2), seed=7)
    assert (made.cluster, made.topologies, made.limits.max_moves, made.seed) == (seen.cluster, seen.topologies, 2, 7)


def test_the_array_view_is_built_once_a_basis_and_not_inherited():
    asked = word_count()
    assert Problem.of(asked) is Problem.of(asked)
    assert Problem.of(asked, measured=False) is not Problem.of(asked)
    assert Problem.of(attrs.evolve(asked, seed=1)) is not Problem.of(asked)


def test_a_request_that_contradicts_itself_has_no_array_view():
    asked = word_count()
    with pytest.raises(DocumentError, match="words/split/9"):
        Problem.of(attrs.evolve(asked, assignment={"words/split/9": None}))
