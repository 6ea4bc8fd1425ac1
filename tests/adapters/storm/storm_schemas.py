"""The schemas of the two documents between Nimbus and Headworks, for tests."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

import headworks_schemas


def valid(name: str, text: str) -> Any:
    """The document in a text, which the schema of this name allows."""
    document = json.loads(text)
    jsonschema.Draft7Validator(json.loads(headworks_schemas.read(name))).validate(document)
    return document
