"""The public names of Headworks as Markdown, from their docstrings: `doc_reference.py` writes them into a page."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = Path(__file__).parent / "sdk" / "public_names.txt"
PASSED_OVER = {"headworks.hooks"}
"""Modules that have a page of their own."""
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")


def api_reference() -> Iterator[str]:
    """A heading and the docstring of every public class and function, module by module, each once."""
    modules = dict(line.split(": ") for line in NAMES.read_text(encoding="utf-8").splitlines())
    root = {name for module, names in modules.items() if module != "headworks" for name in names.split()}
    for module in sorted(modules.keys() - PASSED_OVER):
        names = [name for name in modules[module].split() if module != "headworks" or name not in root]
        found = [(name, getattr(importlib.import_module(module), name)) for name in names]
        shown = [(name, each) for name, each in found if inspect.isclass(each) or inspect.isfunction(each)]
        if shown:
            yield f"## {module}"
        for name, each in shown:
            arguments = "" if inspect.isclass(each) else f"({', '.join(inspect.signature(each).parameters)})"
            yield f"### {name}{arguments}"
            yield from filter(None, (_markdown(inspect.getdoc(each) or ""), _values(each)))
            if inspect.isclass(each):
                yield from filter(None, (*_inherited(each), "\n".join(_members(each))))


def _values(each: Any) -> str:
    """Fields of a value with their types and defaults, or the values of an enumeration."""
    if inspect.isclass(each) and issubclass(each, enum.Enum):
        return f"Values: {', '.join(f'`{value.value}`' for value in each)}."
    if not (inspect.isclass(each) and attrs.has(each)) or any(_inherited(each)):
        return ""
    # As they were written: the types of the fields themselves change once a document of the class is read.
    kinds = {name: kind for base in reversed(each.__mro__) for name, kind in inspect.get_annotations(base).items()}
    fields = (_field(field, kinds[field.name]) for field in attrs.fields(each) if not field.name.startswith("_"))
    return f"Fields: {', '.join(f'`{field}`' for field in fields)}."


def _field(field: Any, kind: str) -> str:
    plain = field.default is not attrs.NOTHING and isinstance(field.default, str | int | float | tuple | None)
    return f"{field.name}: {kind} = {field.default!r}" if plain else f"{field.name}: {kind}"


def _bases(each: type) -> list[type]:
    """Classes of ours, from which a class has more attributes and methods."""
    return [base for base in each.__mro__[1:] if base.__module__.startswith("headworks")]


def _inherited(each: type) -> Iterator[str]:
    """Docstrings of bases that have attributes."""
    for base in _bases(each):
        if "\nAttributes:\n" in (text := inspect.getdoc(base) or ""):
            yield _markdown(text)


def _members(each: type) -> Iterator[str]:
    """Public methods and properties, each with the first line of its docstring."""
    found = {name: member for kind in (*reversed(_bases(each)), each) for name, member in vars(kind).items()}
    for name, member in found.items():
        property_of = getattr(member, "fget", None) or getattr(member, "func", None)
        function = property_of or getattr(member, "__func__", member)
        text = inspect.getdoc(function) or ""
        if inspect.isfunction(function) and text and not name.startswith("_"):
            taken = [part for part in inspect.signature(function).parameters if part not in ("self", "cls")]
            call = "" if property_of else f"({', '.join(taken)})"
            yield f"- `{name}{call}`: {text.partition(chr(10))[0]}"


def _markdown(docstring: str) -> str:
    """A docstring in Google's style: its sections are lists."""
    lines: list[str] = []
    section = ""
    for line in docstring.splitlines():
        if found := SECTION.fullmatch(line):
            section = found[1]
            lines += [f"{section}:", ""]
        elif section and re.match(r"    \S", line):
            name, mark, text = line.strip().partition(": ")
            named = mark and section not in ("Returns", "Yields")
            lines.append(f"- `{name}`: {text}" if named else f"- {line.strip()}")
        else:
            lines.append(f"  {line.strip()}".rstrip() if section else line)
    return "\n".join(lines)
