from __future__ import annotations

import subprocess
import sys

import attrs
import numpy as np
import pytest
from hypothesis import given

import headworks
import headworks.testing
from headworks.api import compare, gap_to, limited, load_request, plan, tightest, why, workload
from headworks.control.journal import Round
from headworks.documents import digest, dumps, unstructure, write
from headworks.errors import DocumentError, OptionError, PluginError
from headworks.hooks import Description, hookimpl
from headworks.model import (
    Bound,
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Limits,
    Node,
    Plan,
    Reason,
    Request,
    Resources,
    Scores,
    Slot,
    Status,
    Stream,
    Topology,
)
from headworks.model.plan import html_table
from headworks.model.values import check_types
from headworks.plugins.host import PluginHost
from headworks.testing import FirstFit
from headworks.testing.instances.strategies import requests
from memory_engine import Judge
from small_requests import word_count


def host():
    return PluginHost().with_plugin("first-fit", FirstFit()).with_plugin("lazy", Judge([-1] * 5))


def test_a_request_may_be_a_value_plain_data_or_a_file(tmp_path):
    asked = word_count()
    write(tmp_path / "request.json", asked)
    forms = [asked, unstructure(asked), tmp_path / "request.json", str(tmp_path / "request.json")]
    assert [load_request(form) for form in forms] == [asked] * 4
    assert {dumps(plan(form, "first-fit", host=host())) for form in forms} == {
        dumps(plan(asked, "first-fit", host=host()))
    }


def test_limits_are_replaced_where_they_are_given():
    made = limited(word_count(), deadline=1.5, max_moves=0, seed=9)
    assert (made.limits.deadline, made.limits.max_moves, made.seed) == (1.5, 0, 9)
    assert limited(word_count()) == word_count()


def test_what_cannot_be_placed_is_a_status_not_an_exception():
    assert plan(word_count(), "lazy", host=host()).status == "infeasible"


def test_a_comparison_has_a_row_a_scheduler_in_the_order_asked():
    found = compare(word_count(), ["lazy", "first-fit"], host=host())
    assert [row.scheduler for row in found.plans] == ["lazy", "first-fit"]
    assert found.request == digest(word_count()) == found.plans[1].plan.provenance.request
    assert [row.scheduler for row in compare(word_count(), host=host()).plans] == ["first-fit", "lazy"]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (PluginError, lambda: plan(word_count(), "nobody", host=host())),
        (OptionError, lambda: plan(word_count(), "first-fit", options={"x": 1}, host=host())),
        (OptionError, lambda: compare(word_count(), ["lazy"], options={"first-fit": {}}, host=host())),
        (DocumentError, lambda: plan(word_count(), "first-fit", deadline=-1.0, host=host())),
        (DocumentError, lambda: plan({"seed": "x"}, "first-fit", host=host())),
        (DocumentError, lambda: compare("missing.json", host=host())),
    ],
)
def test_mistakes_are_errors_of_their_kind(error, call):
    with pytest.raises(error):
        call()


def test_every_public_name_is_there_and_no_other():
    assert all(getattr(headworks, name) is not None for name in headworks.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(headworks, "nothing")  # noqa: B009


def test_importing_the_package_is_cheap():
    script = "import sys, headworks; print(sorted({'numpy', 'pyspark', 'py4j', 'click', 'attrs'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_tightest_bound_counts_and_gaps_are_relative_to_it():
    low, high = (Plan(bound=Bound(figure="inter_node", value=value)) for value in (10.0, 20.0))
    proven = Plan(bound=Bound(figure="inter_node", value=15.0, proven=True))
    assert tightest([low, high, Plan()]) == high.bound
    assert tightest([low, proven, high]) == proven.bound
    assert tightest([Plan()]) is None
    assert gap_to(low.bound, Plan(scores=Scores(inter_node=15.0))) == 0.5
    assert gap_to(Bound(figure="throughput", value=20.0), Plan(scores=Scores(throughput=15.0))) == 0.25
    assert gap_to(Bound(figure="throughput", value=20.0), Plan()) is None
    assert gap_to(Bound(figure="inter_node", value=0.0), Plan(scores=Scores(inter_node=1.0))) is None
    assert gap_to(low.bound, Plan(status=Status.INFEASIBLE)) is None


def test_a_workload_is_a_request_by_its_name():
    asked = workload("dstorm:linear")
    assert isinstance(asked, Request)
    assert plan("dstorm:linear", "even").assignment == plan(asked, "even").assignment
    with pytest.raises(DocumentError, match="did you mean linear"):
        workload("dstorm:linaer")
    with pytest.raises(DocumentError, match="'linear' is not PLUGIN:WORKLOAD"):
        workload("linear")


@pytest.mark.parametrize("nothing", [None, 3, ["x"]])
def test_what_can_be_no_request_is_refused_in_words(nothing):
    with pytest.raises(DocumentError, match="is not a request"):
        plan(nothing, "even")


def test_notebooks_show_plans_and_comparisons_as_tables():
    found = compare(word_count(), ["even", "dstorm"])
    page = found.plans[0].plan._repr_html_()
    assert page.count("<table>") == 2
    assert all(f"<td>{task}</td><td>{slot}</td>" in page for task, slot in found.plans[0].plan.assignment.items())
    assert "<td>even</td><td>ok</td>" in found._repr_html_()
    told = Plan(reasons=(Reason(code="x", subject="x", message="<script>"),), explanation="x")._repr_html_()
    assert "<script>" not in told
    assert "&lt;script&gt;" in told


def test_a_prompt_shows_plans_reasons_and_rounds_in_a_line():
    request = word_count()
    found = plan(request, "even")
    told = why(request, next(iter(found.assignment)), "even")
    done = Round(number=3, outcome="unchanged", message="as it should be", plan=found, notes=("x < y",))
    placed = f"{len(found.assignment)} tasks on {found.scores.nodes_used} nodes, {len(found.moves)} moves"
    assert repr(found) == f"<Plan of even: ok, {placed}>"
    assert repr(told) == f"<Why {told.task}: {told.sentence}>"
    assert repr(done) == "<Round 3: unchanged: as it should be>"
    assert repr(attrs.evolve(done, message="failed:\n\tat line" * 50)).startswith(
        "<Round 3: unchanged: failed: at line"
    )
    assert "\n" not in repr(attrs.evolve(done, message="failed:\n\tat line" * 50))
    assert told._repr_html_().count("<tr>") == 1 + len(told.alternatives)
    assert done._repr_html_().count("<table>") == 3
    assert "<td>note</td><td>x &lt; y</td>" in done._repr_html_()


def test_a_long_table_of_a_notebook_is_cut():
    page = html_table(("a", "b"), [(number, None) for number in range(1000)])
    assert page.count("<tr>") == 22
    assert "<td>980 more</td><td></td>" in page


def test_names_are_listed_and_checked():
    assert dir(headworks) == sorted(headworks.__all__)
    assert {"Scheduler", "Monitor", "Executor", "plan", "workload"} <= set(dir(headworks))
    assert all(getattr(headworks, name) is not None for name in dir(headworks))
    assert dir(headworks.testing) == sorted(headworks.testing.__all__)


def made(**parts):
    """A request of one node and one component, with other values for some fields of the component, or for parts."""
    component = {"id": "a", "kind": Kind.SPOUT, "rate": 1.0}
    component |= {name: parts.pop(name) for name in ("kind", "parallelism", "demand") if name in parts}
    cluster = Cluster(nodes=(Node(id="n", capacity=Resources(cpu=400, memory=4096)),))
    topology = Topology(id="t", components=(Component(**component),))
    return Request(**{"cluster": cluster, "topologies": (topology,), **parts})


@pytest.mark.parametrize(
    ("wrong", "pointer", "expected"),
    [
        ({"kind": "sprout"}, "/topologies/0/components/0/kind", "a Kind is expected, one of spout, bolt"),
        ({"parallelism": "3"}, "/topologies/0/components/0/parallelism", "a whole number is expected"),
        ({"parallelism": 3.0}, "/topologies/0/components/0/parallelism", "a whole number is expected"),
        ({"parallelism": True}, "/topologies/0/components/0/parallelism", "a whole number is expected"),
        ({"demand": Resources(cpu="x")}, "/topologies/0/components/0/demand/cpu", "a number is expected"),
        ({"demand": {"cpu": 2.0}}, "/topologies/0/components/0/demand", "a Resources is expected"),
        ({"seed": np.int64(1)}, "/seed", "a whole number is expected"),
        ({"seed": "x"}, "/seed", "a whole number is expected"),
        ({"topologies": None}, "/topologies", "a tuple is expected"),
        ({"cluster": Cluster(nodes=("n",))}, "/cluster/nodes/0", "a Node is expected"),
        ({"assignment": {"t/a/0": "n:0"}}, "/assignment/t~1a~10", "a Slot is expected"),
        ({"assignment": {7: Slot("n", 0)}}, "/assignment", "a text is expected"),
        ({"limits": Limits(restarts="no")}, "/limits/restarts", "True or False is expected"),
    ],
)
def test_a_request_made_by_hand_is_told_which_field_has_the_wrong_type(wrong, pointer, expected):
    with pytest.raises(DocumentError) as error:
        plan(made(**wrong), "first-fit", host=host())
    assert error.value.pointer == pointer
    assert error.value.message.endswith(expected)


def test_what_does_as_a_type_is_taken():
    taken = made(demand=Resources(cpu=np.float64(2)), assignment={"t/a/0": Slot("n", 0)})
    assert plan(taken, "first-fit", host=host()).status == "ok"


@given(requests())
def test_no_request_that_a_document_may_hold_is_refused_for_its_types(request):
    check_types(request, Request)


@attrs.frozen(kw_only=True)
class Cost:
    node_cost: float = 0.01


class Packer:
    """Fills as few nodes as they are worth: one task a node where they cost nothing."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__, options=Cost)

    @hookimpl
    def headworks_schedule(self, problem, options):
        used = problem.m if not options.node_cost else 2 if options.node_cost < 0.1 else 1
        return problem.plan(np.arange(problem.n) % used)


def pairs_on_one_node():
    """Four tasks of two components, all on the first of four nodes."""
    parts = tuple(Component(id=name, parallelism=2, demand=Resources(cpu=20.0)) for name in "ab")
    words = Topology(id="t", components=parts, streams=(Stream(source="a", target="b", rate=10.0),))
    nodes = tuple(Node(id=f"n{at}", capacity=Resources(cpu=100.0)) for at in range(4))
    running = {f"t/{name}/{at}": Slot("n0", 0) for name in "ab" for at in range(2)}
    return Request(cluster=Cluster(nodes=nodes), topologies=(words,), assignment=FrozenMap(running))


def test_a_front_has_costs_of_a_node_and_limits_on_moves():
    stage = PluginHost().with_plugin("packer", Packer()).with_plugin("lazy", Judge([-1] * 4))
    found = compare(pairs_on_one_node(), ["packer", "lazy"], host=stage, front=True)
    assert [(row.name, row.plan.scores.nodes_used, row.plan.scores.moves) for row in found.plans] == [
        ("packer node_cost=0.1", 1, 0),
        ("packer", 2, 2),
        ("packer max_moves=1", 2, 1),
        ("packer node_cost=0", 4, 3),
    ]
    assert [row["setting"] for row in found.rows] == [row.setting for row in found.plans]
    told = compare(pairs_on_one_node(), ["packer"], host=stage, options={"packer": {"node_cost": 0.0}}, front=True)
    assert not any("node_cost" in row.setting for row in told.plans)
    assert {"", "max_moves=0"} <= {row.setting for row in told.plans}


def test_a_front_without_a_whole_plan_is_empty():
    assert compare(word_count(), ["lazy"], host=host(), front=True).plans == ()
