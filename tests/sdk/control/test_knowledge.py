"""Knowledge that the loop reads: which profiles and demands a request carries, and a file that changes or breaks."""

from __future__ import annotations

import json
import os

import attrs
import pytest

from headworks.control.knowledge import KnowledgeFile, complete, read_knowledge
from headworks.control.loop import Control, Loop
from headworks.documents import dumps, unstructure
from headworks.errors import DocumentError
from headworks.model import Kind, Observation, Profile, Request, Resources
from headworks.model.knowledge import Demand, Knowledge, ProfileFit
from headworks.model.validate import check_request
from headworks.plugins.host import PluginHost
from memory_engine import Engine, Judge, Machine
from small_requests import component, node, request, topology


def profile(name="t", part="c", e=0.5, machine="large"):
    return Profile(topology=name, component=part, machine_type=machine, e=e)


def fit(*where, **more):
    return ProfileFit(profile=profile(*where, **more), samples=9)


def demand(resource, p95, *, name="t", part="c", machine="large"):
    shares = {"p50": 0.0, "p90": 0.0, "p95": p95, "p99": 0.0, "peak": 0.0}
    return Demand(topology=name, component=part, machine_type=machine, resource=resource, samples=9, **shares)


def observation(**more):
    made = request([node("a"), node("b")], [attrs.evolve(topology("t", component("c", 2)), **more)], {"t/c/0": "a"})
    return Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment)


def demand_of(seen):
    return seen.topologies[0].components[0].demand


def test_a_request_has_the_profiles_and_demands_of_its_own_components_and_no_other():
    knowledge = Knowledge(
        profiles=(fit(), fit("t", "gone"), fit("other")),
        demands=(demand("cpu", 30.0), demand("cpu", 70.0, machine="small"), demand("queue", 9.0)),
    )
    seen = complete(observation(), knowledge)
    assert seen.profiles == (profile(),)
    before = dict(demand_of(observation()))
    assert demand_of(seen) == Resources({**before, "cpu": 70.0})


def test_what_was_learned_wins_over_the_profile_that_the_engine_states_for_the_same_machine_type():
    stated = attrs.evolve(observation(), profiles=(profile(e=9.0), profile(e=7.0, machine="small")))
    seen = complete(stated, Knowledge(profiles=(fit(e=0.5),)))
    assert seen.profiles == (profile(e=0.5), profile(e=7.0, machine="small"))


@pytest.mark.parametrize(
    ("learned", "used"),
    [
        (("t", "wc", "wc-1-100"), "t"),
        (("wc", "wc-9-900"), "wc"),
        (("wc-2-900", "wc-10-950", "wc-3-901"), "wc-10-950"),
        (("wc-more-1-100", "wcx", "wc-", "wc-1-x"), None),
    ],
)
def test_a_topology_that_is_submitted_again_has_what_its_latest_submission_taught(learned, used):
    knowledge = Knowledge(profiles=tuple(fit(name, e=float(index)) for index, name in enumerate(learned)))
    seen = complete(observation(name="wc"), knowledge)
    assert seen.profiles == (() if used is None else (profile("t", e=float(learned.index(used))),))


def test_an_engine_without_names_knows_a_topology_by_its_id_alone():
    assert complete(observation(), Knowledge(profiles=(fit("t-1-2"),))).profiles == ()


def test_a_list_of_profiles_is_read_as_the_command_prints_it(tmp_path):
    file = tmp_path / "profiles.json"
    file.write_text(json.dumps([unstructure(fit())]))
    assert read_knowledge(file).profiles == (fit(),)


@pytest.mark.parametrize(
    ("knowledge", "where"),
    [
        (Knowledge(profiles=(fit(), fit(e=-1.0))), "/profiles/1/profile/e"),
        (Knowledge(demands=(demand("cpu", -3.0),)), "/demands/0/p95"),
    ],
)
def test_an_amount_that_is_none_is_refused_with_its_place(tmp_path, knowledge, where):
    file = tmp_path / "knowledge.json"
    file.write_text(dumps(knowledge))
    with pytest.raises(DocumentError) as error:
        read_knowledge(file)
    assert error.value.pointer == where


def test_a_folder_or_file_that_is_not_there_is_refused_and_an_empty_folder_is_said(tmp_path):
    with pytest.raises(DocumentError, match="no such file or folder"):
        KnowledgeFile(tmp_path / "typo")
    (note,) = KnowledgeFile(tmp_path).complete(observation()).notes
    assert "is not there; nothing is known until it can be read" in note


def test_what_changes_is_read_again_and_what_breaks_leaves_the_last_good_one(tmp_path):
    file, source = tmp_path / "knowledge.json", KnowledgeFile(tmp_path)
    whole = dumps(Knowledge(profiles=(fit(e=1.0),), until="2026-01-01T05"))
    file.write_text(whole)
    assert source.complete(observation()).profiles == (profile(e=1.0),)
    for broken in (whole[: len(whole) // 2], '{"profiles": 7}', None):
        file.unlink() if broken is None else file.write_text(broken)
        for _ in range(2):  # it is said as long as it holds
            seen = source.complete(observation())
            assert seen.profiles == (profile(e=1.0),)
            (note,) = seen.notes
            assert str(file) in note
            assert "the last content stays: 1 profiles, 0 demands, until 2026-01-01T05" in note
    file.write_text(dumps(Knowledge(profiles=(fit(e=2.0),))))
    seen = source.complete(observation())
    assert (seen.profiles, seen.notes) == ((profile(e=2.0),), ())


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path):
    file, source = tmp_path / "knowledge.json", KnowledgeFile(tmp_path)
    file.write_text(dumps(Knowledge(profiles=(fit(e=1.0),))))
    source.complete(observation())
    before = file.stat()
    file.write_text(dumps(Knowledge(profiles=(fit(e=3.0),))))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and inode: nobody can tell
    assert source.complete(observation()).profiles == (profile(e=1.0),)


def test_the_loop_asks_its_scheduler_with_what_the_file_knows_at_each_round(tmp_path):
    file = tmp_path / "knowledge.json"
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", Judge([0, 1]))
    control = Control(scheduler="judge", engine="memory", knowledge=tmp_path, shadow=True)
    loop = Loop(host, control, Machine(observation()))
    first = loop.round()
    assert first.request.profiles == ()
    assert any("is not there" in note for note in first.notes)
    file.write_text(dumps(Knowledge(profiles=(fit(),), demands=(demand("cpu", 42.0),))))
    second = loop.round()
    assert second.request.profiles == (profile(),)
    assert demand_of(second.request)["cpu"] == 42.0
    assert second.notes == ()


def test_a_spout_that_was_learned_with_a_selectivity_has_none():
    made = request([node("a")], [topology("t", component("s", kind=Kind.SPOUT), component("c"))], {})
    seen = Observation(cluster=made.cluster, topologies=made.topologies)
    fits = [attrs.evolve(fit("t", part), profile=attrs.evolve(profile("t", part), alpha=3.0)) for part in ("s", "c")]
    found = complete(seen, Knowledge(profiles=tuple(fits)))
    assert {each.component: each.alpha for each in found.profiles} == {"s": None, "c": 3.0}
    check_request(Request.of(found))
