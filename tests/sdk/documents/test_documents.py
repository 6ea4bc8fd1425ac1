from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from document_values import values
from headworks.catalogue import CORE
from headworks.documents import (
    canonical,
    digest,
    dumps,
    loads,
    parse,
    read,
    restore,
    structure,
    unstructure,
    write,
    write_text,
)
from headworks.errors import DocumentError
from headworks.model import Cluster, Node, Observation, Plan, Request, Resources, Slot
from headworks.model.validate import MAX_LABELS, MAX_NODES, MAX_TASKS
from headworks.problem import Problem
from headworks.testing.instances.strategies import requests
from headworks.testing.instances.variants import shuffled
from small_requests import word_count


@pytest.mark.parametrize("kind", CORE.values(), ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_is_written_is_read_back_equal(kind, data):
    value = data.draw(values(kind))
    text = dumps(value)
    assert loads(text, kind) == value
    assert loads(text.encode(), kind) == value
    assert dumps(loads(text, kind)) == text


def document(**changes):
    """A request document in which one place can be spoilt."""
    component = {"id": "c", "parallelism": 2, "demand": {"cpu": 10}}
    topology = {
        "id": "t",
        "components": [component, {"id": "d"}],
        "streams": [{"source": "c", "target": "d", "rate": 5}],
    }
    made = {
        "cluster": {"nodes": [{"id": "n", "capacity": {"cpu": 100}, "slots": [6700]}]},
        "topologies": [topology],
        "assignment": {"t/c/0": "n:6700"},
    }
    for path, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        place = made
        for part in parents:
            place = place[part]
        place[last] = value
    return json.dumps(made)


def spoilt(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


PART = "topologies__0__components__0"
BAD = {
    "unknown node": (document(assignment={"t/c/0": "x:6700"}), "/assignment/t~1c~10"),
    "unknown slot": (document(assignment={"t/c/0": "n:9"}), "/assignment/t~1c~10"),
    "unknown task": (document(assignment={"t/c/7": "n:6700"}), "/assignment/t~1c~17"),
    "slot without port": (document(assignment={"t/c/0": "n"}), "/assignment/t~1c~10"),
    "slot without number": (document(assignment={"t/c/0": "n:x"}), "/assignment/t~1c~10"),
    "slot with a huge port": (document(assignment={"t/c/0": "n:" + "9" * 5000}), "/assignment/t~1c~10"),
    "slot that is a number": (document(assignment={"t/c/0": 6700}), "/assignment/t~1c~10"),
    "task twice": (spoilt(document(), '"t/c/0": "n:6700"', '"t/c/0": "n:6700", "t/c/0": "n:1"'), "/assignment/t~1c~10"),
    "key twice": (spoilt(document(), '"cpu": 100', '"cpu": 1, "cpu": 100'), "/cluster/nodes/0/capacity/cpu"),
    "negative amount": (document(**{f"{PART}__demand": {"cpu": -1}}), "/topologies/0/components/0/demand/cpu"),
    "NaN": (spoilt(document(), '"cpu": 10}', '"cpu": NaN}'), "/topologies/0/components/0/demand/cpu"),
    "infinity": (spoilt(document(), '"cpu": 10}', '"cpu": Infinity}'), "/topologies/0/components/0/demand/cpu"),
    "beyond floats": (spoilt(document(), '"cpu": 10}', '"cpu": 1e400}'), "/topologies/0/components/0/demand/cpu"),
    "beyond amounts": (spoilt(document(), '"cpu": 10}', '"cpu": 1e20}'), "/topologies/0/components/0/demand/cpu"),
    "beyond digits": (spoilt(document(), '"cpu": 10}', f'"cpu": 1{"0" * 5000}' + "}"), ""),
    "text for a number": (document(**{f"{PART}__demand": {"cpu": "1"}}), "/topologies/0/components/0/demand/cpu"),
    "true for a number": (document(**{f"{PART}__demand": {"cpu": True}}), "/topologies/0/components/0/demand/cpu"),
    "object for a list": (document(topologies={}), "/topologies"),
    "null for an object": (document(cluster=None), "/cluster"),
    "unknown key": (document(**{f"{PART}__colour": "red"}), "/topologies/0/components/0/colour"),
    "unknown kind": (document(**{f"{PART}__kind": "tap"}), "/topologies/0/components/0/kind"),
    "id missing": (document(cluster={"nodes": [{"capacity": {}}]}), "/cluster/nodes/0"),
    "id empty": (document(**{f"{PART}__id": ""}), "/topologies/0/components/0/id"),
    "id with a slash": (document(topologies__0__id="t/c", assignment={}), "/topologies/0/id"),
    "half a character": (spoilt(document(), '"d"}]', '"\\ud800"}]'), ""),
    "cycle": (document(topologies__0__streams=[{"source": "c", "target": "c"}]), "/topologies/0/streams"),
    "too many tasks": (document(**{f"{PART}__parallelism": MAX_TASKS}), "/topologies/0/components/1/parallelism"),
    "a bomb of tasks": (document(**{f"{PART}__parallelism": 10**30}), "/topologies/0/components/0/parallelism"),
    "fewer than no tasks": (document(**{f"{PART}__parallelism": -1}), "/topologies/0/components/0/parallelism"),
    "half a task": (document(**{f"{PART}__parallelism": 1.5}), "/topologies/0/components/0/parallelism"),
    "half a thread": (document(**{f"{PART}__threads": 1.5}), "/topologies/0/components/0/threads"),
    "no thread": (document(**{f"{PART}__threads": 0}), "/topologies/0/components/0/threads"),
    "a deep text": ("[" * 100_000, ""),
    "a deep value": ("[" * 700 + "]" * 700, ""),
    "a list": ("[]", ""),
    "empty": ("", ""),
    "cut off": (document()[:-1], ""),
    "not UTF-8": (document().encode("utf-16"), ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "where"), BAD.values(), ids=BAD)
def test_a_document_at_fault_is_refused_at_the_place(text, where):
    with pytest.raises(DocumentError) as caught:
        loads(text, Request)
    assert caught.value.pointer == where
    assert len(str(caught.value)) < 600


def test_a_file_that_is_no_text_is_refused_with_its_name_and_the_reason(tmp_path):
    with pytest.raises(DocumentError) as told:
        loads(document().encode("utf-16"), Request)
    file = tmp_path / "request.json"
    file.write_bytes(document().encode("utf-16"))
    with pytest.raises(DocumentError) as caught:
        read(file, Request)
    assert (caught.value.message, caught.value.source) == (told.value.message, str(file))


def test_the_unspoilt_document_is_fine():
    assert Problem.of(loads(document(), Request)).n == 3


def test_an_unknown_key_is_told_the_known_ones():
    with pytest.raises(DocumentError, match="parallelism"):
        loads(document(**{f"{PART}__paralelism": 3}), Request)


def test_what_a_monitor_saw_may_have_tasks_on_dead_nodes():
    seen = json.loads(document(assignment={"t/c/0": "dead:6700"}))
    observation = structure(seen, Observation)
    assert Problem.of(Request.of(observation)).current.tolist() == [-1, -1, -1]
    assert restore(seen, Request).assignment == {"t/c/0": Slot("dead", 6700)}
    with pytest.raises(DocumentError, match="dead"):
        structure(seen, Request)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
        max_leaves=10,
    )
)
def test_plain_json_is_read_as_it_is(data):
    try:
        text = json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert parse(text) == data


@given(
    st.one_of(st.binary(max_size=40), st.text(max_size=40), st.text('{}[]":,0123456789eE.-+truefalsn ', max_size=40))
)
def test_any_text_is_a_value_or_a_document_error(text):
    with contextlib.suppress(DocumentError):
        assert isinstance(loads(text, Request), Request)


@pytest.mark.parametrize("place", ["missing.json", ".", "x" * 300, "nul\0"])
def test_a_file_that_cannot_be_read_is_a_document_error(tmp_path, place):
    with pytest.raises(DocumentError, match="cannot be read"):
        read(tmp_path / place, Request)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "new" / "request.json"
    write(place, word_count())
    before = place.read_text()
    assert read(place, Request) == word_count()
    with pytest.raises(UnicodeEncodeError):
        write_text(place, "x" * 10_000 + "\ud800")
    assert place.read_text() == before
    assert [each.name for each in place.parent.iterdir()] == ["request.json"]


def test_what_is_written_may_be_read_by_others(tmp_path):
    write(tmp_path / "request.json", word_count())
    assert (tmp_path / "request.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("place", ["folder", "file/below"])
def test_a_place_that_cannot_be_written_is_a_document_error(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(DocumentError, match="cannot be written"):
        write_text(tmp_path / place, "x")
    assert {each.name for each in tmp_path.iterdir()} == {"folder", "file"}


def test_a_device_is_written_to_not_replaced():
    write_text(os.devnull, "x")
    assert not Path(os.devnull).is_file()


@given(requests(), st.randoms(use_true_random=False))
def test_the_digest_names_the_content_whatever_its_order(asked, chance):
    turned = shuffled(asked, chance.randint(0, 9))
    assert digest(turned) == digest(asked)
    assert digest(restore(unstructure(asked), Request)) == digest(asked)
    assert digest(attrs.evolve(asked, seed=asked.seed + 1)) != digest(asked)


def test_equal_requests_have_one_text():
    def made(cpu, slots):
        return Request(cluster=Cluster(nodes=(Node(id="a", capacity=Resources(cpu=cpu), slots=slots, price=cpu),)))

    assert canonical(made(1, (1, 2))) == canonical(made(1.0, (2, 1)))
    assert canonical(made(0.0, (1,))) == canonical(made(-0.0, (1,)))


def test_the_canonical_text_and_the_digest_stay_what_they_were():
    """Journals and plans of earlier releases name requests by it."""
    asked = Request(cluster=Cluster(nodes=(Node(id="ä", capacity=Resources(cpu=1.5), slots=(2, 1)),)), seed=7)
    text = r'{"cluster":{"nodes":[{"capacity":{"cpu":1.5},"id":"\u00e4","slots":[1,2]}]},"seed":7}'
    assert canonical(asked) == text
    assert digest(asked) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_the_canonical_text_is_the_same_in_every_process():
    script = "import sys, headworks.documents as d; from headworks.model import Request\n"
    script += "print(d.canonical(d.loads(sys.stdin.read(), Request)))"
    text = dumps(word_count())
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=text,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {canonical(word_count()) + "\n"}


def test_streams_and_flows_that_differ_only_in_their_figures_have_one_order():
    (made,) = word_count().topologies
    twins = [attrs.evolve(made.streams[0], rate=rate) for rate in (None, 3.0, 1.0)]
    texts = set()
    for seed in range(5):
        random.Random(seed).shuffle(twins)
        texts.add(canonical(attrs.evolve(word_count(), topologies=(attrs.evolve(made, streams=tuple(twins)),))))
    assert len(texts) == 1


def test_a_large_file_of_wrong_numbers_is_refused_without_much_more_memory_than_its_text_and_its_list(tmp_path):
    numbers = 1_000_000
    place = tmp_path / "numbers.json"
    place.write_text('{"profiles": [' + "0," * numbers + "0]}")
    loads('{"cluster": {"nodes": []}, "topologies": []}', Request)  # what reading itself needs is there
    tracemalloc.start()
    with pytest.raises(DocumentError, match="0 is not an object") as caught:
        read(place, Request)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.pointer == "/profiles/0"
    assert peak < 11.5 * numbers  # 2 bytes of text and 8 of the list each, and a ninth for its growth


@pytest.mark.parametrize("kind", [Request, Observation])
@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ({"cluster": {"nodes": [0] * (MAX_NODES + 1)}}, f"/cluster/nodes/{MAX_NODES}"),
        ({"topologies": [{"components": [0] * (MAX_TASKS + 1)}]}, f"/topologies/0/components/{MAX_TASKS}"),
        ({"topologies": [{"components": [0] * MAX_TASKS}, {"components": [0]}]}, "/topologies/1/components/0"),
    ],
)
def test_nodes_and_components_are_counted_before_values_are_made_of_them(kind, data, pointer):
    with pytest.raises(DocumentError, match="are taken") as error:
        structure(data, kind)
    assert error.value.pointer == pointer


LABELS = {"labels": dict.fromkeys(map(str, range(MAX_LABELS + 1)), 0)}


@pytest.mark.parametrize("kind", [Request, Observation])
@pytest.mark.parametrize(
    ("data", "pointer"),
    [
        ({"cluster": {"nodes": [{}, LABELS]}}, "/cluster/nodes/1/labels"),
        ({"topologies": [{"constraints": [LABELS]}]}, "/topologies/0/constraints/0/labels"),
        ({"assignment": {"t/a/0": 0}}, "/assignment/t~1a~10"),
        (
            {
                "topologies": [{"components": [{"id": "a"}, {"id": "b", "parallelism": 2}]}],
                "assignment": dict.fromkeys("abcd", 0),
            },
            "/assignment/d",
        ),
    ],
)
def test_labels_and_assigned_tasks_are_counted_before_values_are_made_of_them(kind, data, pointer):
    with pytest.raises(DocumentError, match=r"at most 1000 are taken|tasks are assigned, and there are [03]$") as error:
        structure(data, kind)
    assert error.value.pointer == pointer


def test_a_plan_assigns_no_more_tasks_than_a_request_may_have():
    with pytest.raises(DocumentError, match=f"and there are {MAX_TASKS} at most"):
        structure({"assignment": dict.fromkeys(range(MAX_TASKS + 1), 0)}, Plan)
