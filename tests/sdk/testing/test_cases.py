"""The requests that schedulers are tried on: valid, reproducible, and of every kind; and the same said differently."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headworks.documents import digest, parse, restore, unstructure
from headworks.model import Request
from headworks.model.validate import check_request
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing import FirstFit, clusters, make_cases, requests, topologies
from headworks.testing.instances.build import SMALL, Size
from headworks.testing.instances.variants import doubled, moved, renamed, shuffled, with_extra_node
from headworks.testing.reference import placeable


def test_cases_are_the_same_in_every_process():
    code = (
        "from headworks.testing import make_cases; from headworks.documents import digest;"
        "print(*map(digest, make_cases(5, 9).mixed))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {" ".join(map(digest, make_cases(5, 9).mixed)) + "\n"}


def test_cases_of_other_seeds_are_others():
    assert make_cases(0).small != make_cases(1).small


def test_cases_cover_what_can_go_wrong():
    host = PluginHost().with_plugin("ff", FirstFit())
    cases = make_cases(0)
    plans = [host.schedule("ff", request) for request in cases.mixed]
    codes = Counter(reason.code for plan in plans for reason in plan.reasons)
    assert {"capacity", "slots", "move-limit", "nodes"} <= set(codes)
    statuses = Counter(str(host.schedule("ff", request).status) for request in cases.small)
    assert min(statuses["ok"], statuses["infeasible"]) >= 10
    seen = [request for request in cases.mixed if (Problem.of(request).fixed >= 0).any()]
    assert seen
    assert any(request.metrics.flows for request in cases.mixed)
    assert any(slot.node == "gone" for request in cases.mixed for slot in request.assignment.values())


@given(request=requests())
def test_strategies_draw_valid_requests_that_are_documents(request):
    check_request(request)
    assert digest(restore(unstructure(request), Request)) == digest(request)


@given(cluster=clusters(), topology=topologies(), request=requests(SMALL, fresh=True))
def test_sizes_bound_what_is_drawn(cluster, topology, request):
    bound = Size()
    assert 1 <= len(cluster.nodes) <= bound.nodes
    assert 1 <= len(topology.components) <= bound.components
    assert Problem.of(request).n <= 8
    assert Problem.of(request).m <= 3
    assert not request.assignment


@given(request=requests(), seed=st.integers(0, 9))
def test_variants_say_the_same(request, seed):
    assert digest(shuffled(request, seed)) == digest(request)
    twice, once = Problem.of(doubled(request)), Problem.of(request)
    assert (twice.demand == 2 * once.demand).all()
    assert (twice.capacity == 2 * once.capacity).all()
    assert (twice.heap_limit == 2 * once.heap_limit).all()
    other = renamed(request, lambda node: f"x{node}")
    assert other.assignment == moved(request.assignment, lambda node: f"x{node}")
    assert (Problem.of(other).current == once.current).all()
    assert Problem.of(with_extra_node(request)).m == once.m + 1


@given(request=requests(Size(nodes=2, topologies=2, components=2, parallelism=1), fresh=True))
def test_brute_force_agrees_with_trying_every_placement(request):
    problem = Problem.of(request)
    every = product(range(problem.m), repeat=problem.n)
    found = any(within(problem, nodes) and problem.plan(nodes).status == "ok" for nodes in every)
    assert placeable(problem) == found


def within(problem, nodes):
    usage = np.zeros_like(problem.capacity)
    np.add.at(usage, list(nodes), problem.demand)
    return bool((usage <= problem.capacity).all())


def test_documents_of_cases_read_back():
    for request in make_cases(0, 5).mixed:
        assert restore(parse(json.dumps(unstructure(request))), Request).cluster == request.cluster
