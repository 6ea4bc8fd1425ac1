"""What reading takes and refuses is what the JSON Schema of the class does."""

from __future__ import annotations

import copy
import math
import re
import subprocess
import sys

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from document_values import values
from headworks.catalogue import CORE
from headworks.documents import loads
from headworks.documents.convert import converter
from headworks.documents.schema import schema_of
from headworks.errors import DocumentError, pointer
from headworks.model import Request

VALIDATORS = {kind: jsonschema.Draft7Validator(schema_of(kind)) for kind in CORE.values()}
OTHERS = st.sampled_from([
    *(None, True, False, 0, 1, -1, 2.0, 1.5, -0.5, 1e30, 1e31, math.inf, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1),
    *("", "x", "1", "cpu", "ok", "bolt", "a:1", "a:-1", "a:b:1", ":1", "a:", "a:1.0", "a\nb:1", "a:" + "9" * 19, "\n"),
    *([], [1], ["x"], [None], [[]], [{}], {}, {"x": 1}, {"x": "a:1"}, {"x": None}, {"": -1}, {"id": "x"}),
]).map(copy.deepcopy)  # fmt: skip
"""Always a new value: one that is there twice would be spoilt in both places, and could come to hold itself."""


def full(value):
    """The document with its defaults, so that each of its places can be spoilt."""
    return converter().copy(omit_if_default=False).unstructure(value)


def places(part):
    """Every object, and every list that is not empty, of plain data."""
    if isinstance(part, dict) or (isinstance(part, list) and part):
        yield part
    for item in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from places(item)


@st.composite
def spoilt(draw, kind):
    """A document in which a few places may be at fault."""
    data = copy.deepcopy(full(draw(values(kind))))
    for _ in range(draw(st.integers(1, 3))):
        part = draw(st.sampled_from(list(places(data))))
        keys = sorted(part) if isinstance(part, dict) else range(len(part))
        change = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if change == "add" and isinstance(part, dict):
            part[draw(st.sampled_from(["unknown", "", "a/b", "cpu", "id", "x-note"]))] = draw(OTHERS)
        elif change == "add":
            part.append(draw(OTHERS))
        elif keys and change == "remove":
            del part[draw(st.sampled_from(keys))]
        elif keys:
            part[draw(st.sampled_from(keys))] = draw(OTHERS)
    return data


def pointers(errors):
    """Places that a schema finds at fault; that of an unknown key is the key's own."""
    for error in errors:
        yield pointer(*error.absolute_path)
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            known = error.schema.get("properties", {})
            yield from (pointer(*error.absolute_path, key) for key in error.instance if key not in known)
        yield from pointers(error.context)


def refusal(data, kind):
    """The error with which a document is refused, None if it is taken."""
    try:
        converter().structure(data, kind)
    except DocumentError as error:
        return error
    return None


@pytest.mark.parametrize("kind", CORE.values(), ids=CORE)
@settings(max_examples=30)
@given(data=st.data())
def test_a_document_is_refused_where_its_schema_refuses_it(kind, data):
    document = data.draw(spoilt(kind))
    faults, found = list(VALIDATORS[kind].iter_errors(document)), refusal(document, kind)
    assert bool(faults) == (found is not None), (faults, found)
    if found is not None:
        assert found.pointer in set(pointers(faults))
        assert found.message
        assert len(str(found)) < 600


@pytest.mark.parametrize("kind", CORE.values(), ids=CORE)
@given(data=st.data())
def test_a_whole_document_is_taken_by_both(kind, data):
    value = data.draw(values(kind))
    document = full(value)
    VALIDATORS[kind].validate(document)
    assert converter().structure(document, kind) == value


PART = {"id": "t", "components": [{"id": "c"}, {"id": "d"}]}
SAID = {
    "unknown": ({"topologies": [{**PART, "worker": 2}]}, "/topologies/0/worker", "unknown key, did you mean workers?"),
    "misspelt": ({"cluster": {"nodes": [{"iD": "a", "capacity": {}}]}}, "/cluster/nodes/0/iD", "did you mean id?"),
    "alien": ({"colour": 1}, "/colour", "unknown key; there are: assignment, cluster, limits, metrics, "),
    "missing": ({"cluster": {"nodes": [{"id": "a"}]}}, "/cluster/nodes/0", "the key 'capacity' is missing"),
    "word": ({"topologies": [{"id": "t", "components": [{"id": "c", "kind": "tap"}]}]},
             "/topologies/0/components/0/kind", "'tap' is not one of: spout, bolt"),
    "truth": ({"limits": {"max_moves": True}}, "/limits/max_moves", "True is not a whole number"),
    "amount": ({"limits": {"deadline": -1}}, "/limits/deadline", "-1 is not an amount: a number of 0 to 1e+30"),
    "NaN": ({"limits": {"deadline": math.nan}}, "/limits/deadline", "nan is not an amount"),
    "bits": ({"seed": 2**63}, "/seed", "9223372036854775808 is not a number of 64 bits"),
    "slot": ({"assignment": {"t/c/0": "n"}}, "/assignment/t~1c~10", "'n' is not NODE:PORT"),
    "list": ({"topologies": {}}, "/topologies", "{} is not a list"),
    "object": ({"cluster": [1] * 1000}, "/cluster", "[1, 1, 1, 1, 1, 1, ...] is not an object"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "where", "words"), SAID.values(), ids=SAID)
def test_an_error_names_the_place_what_is_there_and_what_may_be(data, where, words):
    found = refusal(data, Request)
    assert found.pointer == where
    assert words in found.message


@pytest.mark.parametrize(
    ("text", "words"), [("[]", "this is not a request: [] is not an object"), ("1", "not a request")]
)
def test_what_is_no_object_at_all_is_told_what_is_expected(text, words):
    with pytest.raises(DocumentError, match=re.escape(words)):
        loads(text, Request)


class Counted(list):
    """A list that knows how far it was read."""

    read = 0

    def __iter__(self):
        for item in super().__iter__():
            self.read += 1
            yield item


@pytest.mark.parametrize("fault", [{"id": "x", "capacity": {"cpu": "1"}}, {"id": 1}, {"colour": "red"}, 5, None])
def test_a_list_is_read_to_its_first_fault(fault):
    good = {"id": "a", "capacity": {}}
    nodes = Counted([good, good, fault, fault, *[good] * 1000])
    assert refusal({"cluster": {"nodes": nodes}}, Request).pointer.startswith("/cluster/nodes/2")
    assert nodes.read == 3


def test_reading_imports_no_validator():
    script = "import sys; from headworks.documents import loads; from headworks.model import Plan; loads('{}', Plan)\n"
    script += "print('cattrs' in sys.modules, 'jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
