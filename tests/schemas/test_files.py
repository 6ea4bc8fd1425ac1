"""The schema files are what the model's classes say: `headgate schema -o schemas/headgate_schemas/v1` writes them."""

from __future__ import annotations

import json

import jsonschema
import pytest

import headgate_schemas
from headgate.catalogue import documents
from headgate.schema import schema_of

WRITTEN = ("storm-answer", "storm-round")
"""Written by hand: a Java class has the one end of them."""


def test_every_document_has_a_file():
    assert headgate_schemas.names() == tuple(sorted([*documents(), *WRITTEN]))


@pytest.mark.parametrize("name", WRITTEN)
def test_file_is_a_schema_with_a_stable_id(name):
    schema = json.loads(headgate_schemas.read(name))
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/{headgate_schemas.VERSION}/{name}.json")


@pytest.mark.parametrize("name", sorted(documents()))
def test_file_is_current_and_a_schema(name):
    schema = json.loads(headgate_schemas.read(name))
    assert schema == schema_of(documents()[name])
    jsonschema.Draft7Validator.check_schema(schema)
    assert f"/{headgate_schemas.VERSION}/" in schema["$id"]
