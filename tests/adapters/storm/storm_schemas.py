"""The schemas of the two documents between Nimbus and Headgate, for tests."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

import headgate_schemas


def valid(name: str, text: str) -> Any:
    """The document in a text, which the schema of this name allows."""
    document = json.loads(text)
    jsonschema.Draft7Validator(json.loads(headgate_schemas.read(name))).validate(document)
    return document
