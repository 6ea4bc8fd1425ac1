from __future__ import annotations

import json
from pathlib import Path

import attrs
import jsonschema
import pytest

from headworks.catalogue import CORE
from headworks.documents.schema import schema_id, schema_of


@pytest.mark.parametrize("kind", CORE.values(), ids=CORE)
def test_schemas_are_draft_7_with_a_stable_id_and_refuse_unknown_keys(kind):
    schema = schema_of(kind)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["$id"] == schema_id(kind) == f"urn:headworks:schema:{kind.__name__.lower()}:1"
    parts = [schema, *schema["definitions"].values()]
    assert all(part["additionalProperties"] is False for part in parts)
    assert all(part["description"] for part in parts)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("kind", CORE.values(), ids=CORE)
def test_a_schema_names_exactly_the_fields_of_its_class(kind):
    fields = {field.name for field in attrs.fields(kind) if field.init}
    assert set(schema_of(kind)["properties"]) == fields | {"$schema"}


def test_a_field_of_a_type_without_a_schema_is_refused():
    @attrs.frozen
    class Odd:
        path: Path

    Odd.__annotations__["path"] = Path
    with pytest.raises(TypeError, match="no schema for"):
        schema_of(Odd)
