"""The schema files are what the model's classes say: `headgate schema -o schemas/headgate_schemas/v1` writes them."""

from __future__ import annotations

import json

import jsonschema
import pytest

import headgate_schemas
from headgate.catalogue import documents
from headgate.schema import schema_of


def test_every_document_has_a_file():
    assert headgate_schemas.names() == tuple(sorted(documents()))


@pytest.mark.parametrize("name", sorted(documents()))
def test_file_is_current_and_a_schema(name):
    schema = json.loads(headgate_schemas.read(name))
    assert schema == schema_of(documents()[name])
    jsonschema.Draft7Validator.check_schema(schema)
    assert f"/{headgate_schemas.VERSION}/" in schema["$id"]
