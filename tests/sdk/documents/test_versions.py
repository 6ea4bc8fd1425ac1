"""What `$schema` decides, and what a reader takes of a document of the next minor version."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from document_values import values
from headworks.catalogue import CORE
from headworks.documents import dumps, loads, structure
from headworks.documents.schema import schema_id, schema_of
from headworks.errors import DocumentError
from headworks.model import FrozenMap, Request
from small_requests import word_count

NEXT = f"{schema_id(Request)}.1"
WRONG = [
    *("urn:headworks:schema:plan:1", "urn:headworks:schema:request:2", "urn:headworks:schema:request:2.1"),
    *("urn:headworks:schema:request:1.", "urn:headworks:schema:request:1.x", "urn:headworks:schema:request:11"),
    *("", "request", 1, None, {}, ["urn:headworks:schema:request:1"]),
]


@pytest.mark.parametrize("named", WRONG, ids=str)
def test_another_name_or_major_version_is_refused_by_reader_and_schema(named):
    document = {**json.loads(dumps(word_count())), "$schema": named}
    with pytest.raises(DocumentError, match=r"urn:headworks:schema:request:1$") as caught:
        structure(document, Request)
    assert caught.value.pointer == "/$schema"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema_of(Request))


@pytest.mark.parametrize("named", [schema_id(Request), f"{schema_id(Request)}.0", NEXT, f"{schema_id(Request)}.12"])
def test_any_minor_version_is_read_and_so_is_a_document_without_a_schema(named):
    document = json.loads(dumps(word_count()))
    del document["$schema"]
    assert structure(document, Request) == structure({**document, "$schema": named}, Request) == word_count()
    jsonschema.validate({**document, "$schema": named}, schema_of(Request))


def test_a_document_of_the_next_minor_version_is_read_where_its_new_keys_may_be_ignored():
    document = {**json.loads(dumps(word_count())), "$schema": NEXT}
    document["x-made-by"] = {"tool": "acme", "version": 2}
    for each in document["cluster"]["nodes"]:
        each["x-power"] = 3
    assert loads(json.dumps(document), Request) == word_count()


def test_a_document_of_the_next_minor_version_is_refused_at_a_key_that_must_be_understood():
    document = {**json.loads(dumps(word_count())), "$schema": NEXT}
    document["cluster"]["nodes"][0]["power"] = 3
    with pytest.raises(DocumentError, match="unknown key") as caught:
        structure(document, Request)
    assert caught.value.pointer == "/cluster/nodes/0/power"


@pytest.mark.parametrize("kind", CORE.values(), ids=CORE)
@given(data=st.data())
def test_keys_of_others_are_ignored_by_reader_and_schema_in_each_object(kind, data):
    value = data.draw(values(kind))
    document = with_notes(json.loads(dumps(value)), schema_of(kind))
    jsonschema.validate(document, schema_of(kind))
    assert structure(document, kind) == value


def with_notes(document, schema):
    """The document with notes in each object that has fields; a map's keys are data."""

    def of(part, rule):
        rule = schema["definitions"][rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
        if isinstance(part, list) and "items" in rule:
            return [of(each, rule["items"]) for each in part]
        if not isinstance(part, dict):
            return part
        if "properties" in rule:
            made = {key: of(each, rule["properties"][key]) for key, each in part.items()}
            return {"x-acme": {"since": None}, **made, "x-": [0]}
        if isinstance(more := rule.get("additionalProperties"), dict):
            return {key: of(each, more) for key, each in part.items()}
        return part

    return of(copy.deepcopy(document), schema)


def test_keys_of_a_map_are_data_however_they_begin():
    document = json.loads(dumps(word_count()))
    document["cluster"]["nodes"][0]["labels"] = {"x-acme": "a"}
    assert structure(document, Request).cluster.nodes[0].labels == FrozenMap({"x-acme": "a"})


def test_what_begins_almost_so_is_an_unknown_key():
    with pytest.raises(DocumentError, match="unknown key"):
        structure({**json.loads(dumps(word_count())), "X-acme": 1}, Request)
