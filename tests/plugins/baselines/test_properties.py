import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baseline_cases import ask, shuffled
from headworks.model import Status
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.testing.instances.strategies import requests
from headworks_baselines.even import EvenOptions, even
from headworks_baselines.isolation import isolation
from headworks_baselines.resource_aware import ResourceAwareOptions, resource_aware

VARIANTS = [
    *(
        (scheduler, EvenOptions(workers=workers))
        for scheduler in (even, isolation)
        for workers in ("nodes", "topology")
    ),
    *(
        (resource_aware, ResourceAwareOptions(order=order, rule=rule, measured=measured))
        for order, rule, measured in itertools.product(("ras", "bfs"), ("ras", "distance"), (False, True))
    ),
]
every_variant = pytest.mark.parametrize(
    ("scheduler", "options"), VARIANTS, ids=[" ".join(map(str, attrs.astuple(options))) for _, options in VARIANTS]
)


@st.composite
def isolated_requests(draw):
    request = draw(requests())
    topologies = (
        attrs.evolve(each, isolated_nodes=draw(st.sampled_from((None, None, 1, 2)))) for each in request.topologies
    )
    return attrs.evolve(request, topologies=tuple(topologies))


@every_variant
@given(request=isolated_requests(), rebalance=st.booleans())
def test_plans_keep_every_rule(scheduler, options, request, rebalance):
    plan = ask(scheduler, request, attrs.evolve(options, rebalance=rebalance))
    problem = Problem.of(request, measured=plan.measured)
    assert check_plan(problem, plan) == ()
    assert (plan.status is Status.OK) == (len(plan.assignment) == problem.n)


@every_variant
@given(request=isolated_requests())
def test_running_tasks_stay_on_their_nodes(scheduler, options, request):
    plan = ask(scheduler, request, options)
    problem = Problem.of(request)
    for index, task in enumerate(problem.task_ids):
        if problem.current[index] >= 0 and task in plan.assignment:
            assert plan.assignment[task].node == problem.node_ids[problem.current[index]]


@every_variant
@given(request=isolated_requests(), seed=st.integers(0, 2**31), rebalance=st.booleans())
def test_the_order_of_the_document_does_not_matter(scheduler, options, request, seed, rebalance):
    options = attrs.evolve(options, rebalance=rebalance)
    assert ask(scheduler, shuffled(request, seed), options) == ask(scheduler, request, options)


@given(request=isolated_requests())
def test_claimed_hosts_serve_one_topology(request):
    fresh = attrs.evolve(request, assignment=type(request.assignment)())
    plan = ask(isolation, fresh, EvenOptions())
    host = {node.id: node.hostname for node in request.cluster.nodes}
    alone = {each.id: each.isolated_nodes for each in request.topologies if each.isolated_nodes}
    used = {}
    for task, slot in plan.assignment.items():
        used.setdefault(task.partition("/")[0], set()).add(host[slot.node])
    for name, count in alone.items():
        mine = used.get(name, set())
        assert len(mine) <= count
        assert all(mine.isdisjoint(others) for other, others in used.items() if other != name)
