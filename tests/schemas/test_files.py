"""The schema files are what the classes say: `headgate schema -O schemas/headgate_schemas/v1` writes them."""

from __future__ import annotations

import json

import jsonschema
import pytest

import headgate_schemas
from headgate.catalogue import documents, schemas
from headgate.plugins.host import PluginHost

HOST = PluginHost.load()
WRITTEN = ("storm-answer", "storm-round")
"""Written by hand: a Java class has the one end of them."""


def test_every_document_has_a_file():
    assert headgate_schemas.names() == tuple(documents(HOST))
    assert tuple(name for name, kind in documents(HOST).items() if not isinstance(kind, type)) == WRITTEN


@pytest.mark.parametrize("name", headgate_schemas.names())
def test_file_is_current_and_a_schema(name):
    schema = json.loads(headgate_schemas.read(name))
    assert schema == schemas(HOST)[name]
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/{headgate_schemas.VERSION}/{name}.json")
