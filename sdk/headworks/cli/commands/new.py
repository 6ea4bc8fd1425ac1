"""`headworks new`: the package of a plugin, made of an example that is tested as it stands."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

import headworks
from headworks.cli.installed import plugins
from headworks.cli.output import emit, json_option
from headworks.cli.summaries import Summaries
from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
PARTS = ("pyproject.toml", "*.md", "*.py", "py.typed")
"""Files of an example that are copied; the others are left by tools."""
PLACES = (Path(headworks.__file__).parent / "examples", Path(headworks.__file__).parents[2] / "examples")
"""Folders of examples: in a wheel, and in a working copy."""


@attrs.frozen
class Example:
    """A kind of plugin: the example's folder, its name, and how to see that a plugin of this kind works."""

    folder: str
    name: str
    conform: str


KINDS = {
    "scheduler": Example("acme-scheduler", "acme", "headworks conform {name}"),
    "engine": Example("pool-engine", "pool", "headworks conform {name} 3"),
}


def package(kind: Example, name: str) -> Mapping[str, str]:
    """Text of each file of a package, by its path."""
    source = next(each / kind.folder for each in PLACES if (each / kind.folder).is_dir())
    files = sorted(file for part in PARTS for file in source.rglob(part) if not _hidden(file.relative_to(source)))
    return {
        _renamed(file.relative_to(source).as_posix(), kind.name, name): _text(file, kind.name, name) for file in files
    }


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "__pycache__", "build", "dist")) for part in path.parts)


def _text(file: Path, old: str, new: str) -> str:
    text = file.read_text(encoding="utf-8").replace("[Headworks](../../README.md)", "Headworks")
    text = text.replace('license = "Apache-2.0"\n', "").replace(
        "Licensed under the Apache License 2.0, like Headworks.\n", ""
    )
    text = re.sub(r"Copy the folder, change the names, and (\w)", lambda found: found[1].upper(), text)
    text = re.sub(r", in a package of its own[^\n]*\n", ".\n", text)
    return _renamed(text.rstrip() + "\n" if text.strip() else "", old, new)


def _renamed(text: str, old: str, new: str) -> str:
    """A text with the new plugin's name: an identifier where Python wants one, else as it was typed."""
    module = new.replace("-", "_")
    text = text.replace(f"headworks_{old}:{old}", f"headworks_{module}:{module}")
    text = re.sub(rf"(headworks_|test_){old}\b", rf"\g<1>{module}", text)
    text = re.sub(rf"^{old} = (?!\")", f"{module} = ", text, flags=re.MULTILINE)
    text = text.replace(old.capitalize(), "".join(word.capitalize() for word in new.split("-")))
    return re.sub(rf"\b{old}\b", new, text)


@click.group("new", cls=Summaries)
def command() -> None:
    """Make the package of a plugin, with its entry point, its tests and a README."""


def _make(context: click.Context, kind: Example, name: str, folder: Path | None, *, as_json: bool) -> None:
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise click.UsageError(f"{name!r} names no plugin: lower-case words with hyphens between do, such as my-own")
    if name in plugins(context):
        raise click.UsageError(f"a plugin {name!r} is installed already; choose another name")
    folder = folder or Path(kind.folder.replace(kind.name, name))
    files = package(kind, name)
    try:
        folder.mkdir(parents=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DocumentError("", f"{folder} cannot be made: {error.strerror}; choose another with --folder") from None
    emit(
        {"folder": str(folder), "files": list(files)},
        f"{folder}: {len(files)} files",
        f"  pip install -e '{folder}[test]'",
        f"  {kind.conform.format(name=name)}",
        f"  cd {folder} && pytest",
        as_json=as_json,
    )


folder_option = click.option(
    "--folder", type=click.Path(path_type=Path), help="Folder to make; NAME-scheduler or NAME-engine by default."
)


@command.command("scheduler")
@click.argument("name")
@folder_option
@json_option
@click.pass_context
def scheduler(context: click.Context, /, *, name: str, folder: Path | None, as_json: bool) -> None:
    """Make the package of a scheduler NAME, which conforms as it stands."""
    _make(context, KINDS["scheduler"], name, folder, as_json=as_json)


@command.command("engine")
@click.argument("name")
@folder_option
@json_option
@click.pass_context
def engine(context: click.Context, /, *, name: str, folder: Path | None, as_json: bool) -> None:
    """Make the package of an engine NAME and its adapter, which conforms as it stands."""
    _make(context, KINDS["engine"], name, folder, as_json=as_json)
