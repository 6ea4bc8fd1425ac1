"""Bounds from prices: patterns that were not listed, and cuts on lots of tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headworks.model import Kind, Stream
from headworks.problem import Problem
from headworks_exact import placement, pricing
from headworks_exact.classes import Classes
from headworks_exact.options import Options
from headworks_exact.pattern_model import PatternModel
from headworks_exact.patterns import PatternBuilder, joined
from headworks_exact.placement import place
from headworks_exact.pricing import Implicit, Lagrangian, generate
from headworks_exact.solver import Budget
from headworks_exact.start import start
from random_requests import random_request
from small_requests import component, node, request, topology


def budget():
    return Budget(work=0.5, clock=600.0)


@pytest.mark.parametrize("block", range(2))
def test_no_placement_beats_a_bound_of_patterns_that_were_not_listed(block, monkeypatch):
    proven = 0
    for seed in range(block * 4, block * 4 + 4):
        problem = Problem.of(random_request(seed, "lots"))
        starts = [each for each in [start(problem)] if (each >= 0).all()]
        found = []
        for listed in (placement.ALL, 0):
            monkeypatch.setattr(placement, "ALL", listed)
            found.append(place(problem, starts, Options(), budget()))
        known = [problem.traffic.inter_node(each.node_of) for each in found if each.node_of is not None]
        assert all(each.bound <= min(known) and not each.infeasible for each in found if known), seed
        proven += found[1].proven or found[1].infeasible
    assert proven >= 2


def two_of_fifteen():
    """Two nodes with room for 15 of 20 tasks: 10 of a component, which all send to 10 of another."""
    parts = component("a", 10, cpu=10.0, kind=Kind.SPOUT, rate=100.0), component("b", 10, cpu=10.0)
    nodes = [node(name, cpu=150.0) for name in "xy"]
    return Problem.of(request(nodes, [topology("t", *parts, streams=(Stream(source="a", target="b"),))]))


def relaxed():
    """The bound on the share of traffic within nodes that column generation ends with."""
    problem = two_of_fifteen()
    classes = Classes.of(problem)
    model = PatternModel.of(problem, classes)
    work = Budget(work=60.0, clock=600.0)
    oracle = Implicit(PatternBuilder(problem, classes, model, work))
    found, _ = generate(model, oracle, joined([], len(model.order)), -math.inf, work)
    return found


def test_cuts_on_lots_bring_the_relaxation_closer_to_whole_patterns(monkeypatch):
    """8 and 7 beside 2 and 3 keep 62 of 100 pairs together; two thirds of 8 and 7, and of 7 and 8, on each of two nodes
    would keep 74.7."""
    assert 0.62 <= relaxed().value < 0.68
    monkeypatch.setattr(pricing, "EXCEEDED", math.inf)
    assert relaxed().value == pytest.approx(4 / 3 * 0.56, abs=1e-5)


def test_tasks_cost_no_more_on_their_nodes_than_all_together():
    """So that a bound counts the price of all of them once, however they are spread."""
    price = relaxed().price
    for tasks in price:
        for whole in range(len(tasks)):
            parts = np.arange(whole + 1)
            assert (tasks[parts] + tasks[whole - parts] <= tasks[whole] + 1e-9).all()


def test_a_price_of_lots_is_counted_for_all_tasks_of_the_class():
    problem = two_of_fifteen()
    model = PatternModel.of(problem, Classes.of(problem))
    price = np.tile(np.arange(model.widest) // 6 * 0.5, (2, 1))
    assert Lagrangian.of(model, price, np.array([0.25])).value == pytest.approx(0.5 + 0.5 + 2 * 0.25, abs=1e-6)
