"""JSON Schemas (draft-07) of Headworks's documents, as files: one a document, the major version in the path."""

from importlib.resources import files

VERSION = "v1"


def names() -> tuple[str, ...]:
    """Documents that have a schema, sorted."""
    folder = files(__name__) / VERSION
    return tuple(sorted(each.name.removesuffix(".json") for each in folder.iterdir() if each.name.endswith(".json")))


def read(name: str) -> str:
    """The schema of a document as JSON text; raises `FileNotFoundError` if there is none."""
    return (files(__name__) / VERSION / f"{name}.json").read_text(encoding="utf-8")
