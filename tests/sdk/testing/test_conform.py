"""The report of `headworks conform`."""

from __future__ import annotations

import json
import subprocess
import sys

import attrs
import pytest

from headworks.documents import unstructure
from headworks.errors import PluginError, how_to_install
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing import RULES, FirstFit
from headworks.testing.conform import Outcome, conform
from headworks.testing.instances.cases import make_cases
from headworks.testing.instances.shrink import shrink, weight
from plugin_folder import GOOD, install
from zoo import BEASTS, Hanging, Scheduler


@pytest.fixture
def few_cases(monkeypatch):
    monkeypatch.setattr("headworks.testing.conform.make_cases", lambda seed: make_cases(seed, 10))


def test_a_good_scheduler_has_a_row_for_every_rule_and_passes():
    found = conform("ff", PluginHost().with_plugin("ff", FirstFit()), seed=2)
    assert [row.rule for row in found.rules] == [rule.id for rule in RULES]
    assert found.passed
    rows = {row.rule: row for row in found.rules}
    assert rows["capacity"].status is Outcome.OK
    assert rows["total"].status is Outcome.SKIPPED
    assert "'total' is not declared: " in rows["total"].detail
    assert "requests break it" in rows["total"].detail
    assert "entry point" in rows["processes"].detail
    assert json.dumps(unstructure(found), allow_nan=False)


def test_a_broken_rule_comes_with_the_smallest_request(few_cases):
    found = conform("overloads", PluginHost().with_plugin("overloads", BEASTS["overloads"].plugin))
    assert not found.passed
    row = next(row for row in found.rules if row.rule == "capacity")
    assert row.status is Outcome.FAILED
    assert "overloads" in row.detail
    assert row.example is not None
    assert Problem.of(row.example).n <= 2
    assert len(row.example.cluster.nodes) == 1


def test_the_same_seed_gives_the_same_report(few_cases):
    host = PluginHost().with_plugin("timid", BEASTS["timid"].plugin)
    assert conform("timid", host, seed=3) == conform("timid", host, seed=3)


def test_a_scheduler_that_hangs_is_asked_no_more(monkeypatch):
    act = Hanging()
    hasty = [attrs.evolve(request, limits=Limits(deadline=0.02)) for request in make_cases(0, 1).mixed]
    cases = attrs.evolve(make_cases(0, 1), mixed=tuple(hasty))
    monkeypatch.setattr("headworks.testing.conform.make_cases", lambda _seed: cases)
    found = conform("hangs", PluginHost().with_plugin("hangs", Scheduler(act)))
    act.release.set()
    assert [row.rule for row in found.rules if row.status is Outcome.FAILED] == ["deadline"]
    assert all(row.detail == "it overruns its deadline" for row in found.rules[2:])


def test_an_unknown_scheduler_is_an_error():
    with pytest.raises(PluginError, match="there is no scheduler 'nobody'"):
        conform("nobody", PluginHost())


HASHED = GOOD.replace(
    "return problem.plan([-1] * problem.n)",
    "return problem.plan([hash(task.id) % problem.m if problem.m else -1 for task in problem.tasks])",
)


def test_another_process_tells_a_scheduler_that_depends_on_the_hash_seed(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD, "hashed": HASHED})
    monkeypatch.syspath_prepend(tmp_path)
    host, cases = PluginHost.load(["good", "hashed"]), make_cases(0, 2)
    rule = next(rule for rule in RULES if rule.id == "processes")
    assert rule.check(host, "good", cases) == []
    assert "PYTHONHASHSEED" in rule.check(host, "hashed", cases)[0].message


ONCE = "import os\nif 'PYTHONHASHSEED' in os.environ: raise OSError('gone')\n"


def test_a_process_that_fails_is_an_error_with_its_last_words(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"once": ONCE + GOOD})
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    rule = next(rule for rule in RULES if rule.id == "processes")
    with pytest.raises(PluginError, match=r"(?s)once cannot be asked in another process: .*gone"):
        rule.check(PluginHost.load(["once"]), "once", make_cases(0, 1))


def test_shrinking_keeps_the_fault_and_stops_at_its_core():
    request = make_cases(0).mixed[-2]
    assert Problem.of(request).n > 20
    least = shrink(request, lambda each: Problem.of(each).n >= 3 and len(each.cluster.nodes) >= 2)
    assert (Problem.of(least).n, len(least.cluster.nodes)) == (3, 2)
    assert weight(least) < weight(request)


def test_the_kit_works_without_hypothesis():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from headworks.plugins.host import PluginHost\n"
        "from headworks.testing import FirstFit\n"
        "from headworks.testing import conform, make_cases\n"
        "conform.make_cases = lambda seed: make_cases(seed, 5)\n"
        "print(conform.conform('ff', PluginHost().with_plugin('ff', FirstFit())).passed)\n"
        "try:\n    import headworks.testing.instances.strategies\nexcept ImportError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        "True",
        f"headworks.testing.instances.strategies needs Hypothesis: {how_to_install('testing')}",
    ]
