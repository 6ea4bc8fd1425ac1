"""The schema files are what the classes say: `headworks schema -O schemas/headworks_schemas/v1` writes them."""

from __future__ import annotations

import json

import jsonschema
import pytest

import headworks_schemas
from headworks.catalogue import documents, schemas
from headworks.plugins.host import PluginHost

HOST = PluginHost.load()
WRITTEN = ("storm-answer", "storm-ledger", "storm-round")
"""Written by hand: a Java class has the one end of them."""


def test_every_document_has_a_file():
    assert headworks_schemas.names() == tuple(documents(HOST))
    assert tuple(name for name, kind in documents(HOST).items() if not isinstance(kind, type)) == WRITTEN


@pytest.mark.parametrize("name", headworks_schemas.names())
def test_file_is_current_and_a_schema(name):
    schema = json.loads(headworks_schemas.read(name))
    assert schema == schemas(HOST)[name]
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$id"] == f"urn:headworks:schema:{name}:{headworks_schemas.VERSION.removeprefix('v')}"
