"""References of the documents, made from the code: `python tests/doc_reference.py` writes them anew.

Between `<!-- generated: NAME -->` and `<!-- end -->` of a page stands what the function NAME of `REFERENCES` makes.
"""

from __future__ import annotations

import ast
import html
import inspect
import itertools
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doc_api import api_reference
from headworks import PluginHost, hooks
from headworks.cli.main import headworks
from headworks.control import journal
from headworks.plugins.guard import DEADLINES
from headworks.report.metrics import FAMILIES
from headworks.testing import ENGINE_RULES, RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"(?P<head><!-- generated: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->\n)", re.DOTALL)
HOOKS = {
    "Every plugin": ("describe", "needs", "workloads", "documents", "recognise"),
    "Scheduler": ("schedule", "prepare", "analyse"),
    "Monitor": ("open", "run", "observe", "look"),
    "Executor": ("preflight", "execute", "rollback", "keeps", "scale", "intake"),
    "Priority manager": ("prioritise", "reschedule", "recover"),
    "Around a round": ("review", "on_round"),
    "Installation of an engine": ("examine",),
}
"""Hooks by the kind of plugin that has them, in the order of the page."""
ENGINE = ("describe", "open", "observe", "look", "preflight", "execute", "rollback", "keeps", "scale", "run")
"""Hooks of an engine's adapter, in the order in which its author meets them."""
FOLDERS = ("sdk", "adapters", "plugins", "schemas", "lab")
"""Where packages are, in the order of the page."""
SHARED = 5
"""With more options of `headworks run` than these, a command names them only."""


def hook_reference() -> Iterator[str]:
    """A heading, the contract and the deadline of every hook."""
    found = _contracts()
    for kind, names in HOOKS.items():
        yield f"### {kind}"
        for name in (f"headworks_{each}" for each in names):
            contract = found.pop(name)
            yield f"#### {_called(contract)}"
            yield inspect.cleandoc(contract.__doc__ or "")
            if name in DEADLINES:
                yield f"Deadline: {DEADLINES[name]:g} s."
    if found:
        raise ValueError(f"hooks of no kind: {', '.join(found)}")


def _contracts() -> dict[str, Callable[..., object]]:
    """Every hook by its name."""
    return {name: each for spec in hooks.SPECS for name, each in vars(spec).items() if name.startswith("headworks_")}


def _called(contract: Callable[..., object]) -> str:
    """A hook with the names of its arguments."""
    arguments = ", ".join(each for each in inspect.signature(contract).parameters if each != "self")
    return f"{contract.__name__}({arguments})"


def engine_hooks() -> Iterator[str]:
    """The hooks of an engine's adapter, a line of its contract each."""
    contracts = [_contracts()[f"headworks_{each}"] for each in ENGINE]
    lines = (_cell(inspect.cleandoc(each.__doc__ or "").partition("\n")[0]) for each in contracts)
    yield _table("hook | task", (f"`{_called(each)}` | {line}" for each, line in zip(contracts, lines, strict=True)))


def scheduler_reference() -> Iterator[str]:
    """Every built-in scheduler: what it decides, and after which paper or scheduler."""
    host = PluginHost.load()
    found = ((name, host.describe(name)) for name in host.schedulers)
    rows = (f"`{name}` | {_cell(each.summary)} | {_cell(each.paper)}" for name, each in found)
    yield _table("name | decision | source", rows)


def outcomes() -> Iterator[str]:
    """How rounds end, as the text below `Outcome` says."""
    body = ast.parse(inspect.getsource(journal)).body
    (said,) = (
        ast.literal_eval(text.value)
        for one, text in itertools.pairwise(body)
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "Outcome" and isinstance(text, ast.Expr)
    )
    found = re.findall(r"([\w-]+): ([^;.]+)[;.]", " ".join(said.split()))
    yield _table("outcome | meaning", (f"`{name}` | {meaning}" for name, meaning in found))


def package_reference() -> Iterator[str]:
    """Every package by its folder, and the first line of its docstring."""
    found = [each.parent for folder in FOLDERS for each in sorted((ROOT / folder).glob("headworks*/__init__.py"))]
    rows = (f"`{each.parent.name}/` | `{each.name}` | {_first_line(each, '.')}" for each in found)
    yield _table("folder | package | content", rows)


def command_reference() -> Iterator[str]:
    """A heading, the usage, the help and the options of every command, without those of the group of all."""
    of_loop = dict(_options(_command("run")))
    for name, command in commands(headworks, "headworks"):
        depth = min(name.count(" ") + 1, 3)
        yield f"{'#' * depth} {name}"
        yield f"```text\n{' '.join((name, *_usage(command)))}\n```"
        yield re.sub(r"^\\b\n", "", inspect.cleandoc(command.help or ""), flags=re.MULTILINE)
        options = dict(_options(command))
        shared = [each for each in options if of_loop.get(each) == options[each]] if name != "headworks run" else []
        shared = shared if len(shared) > SHARED else []
        if rows := [f"{_cell(f'`{each}`')} | {_cell(text)}" for each, text in options.items() if each not in shared]:
            yield _table("option | meaning", rows)
        if shared:
            names = ", ".join(f"`{each.split()[0].rstrip(',')}`" for each in shared)
            yield f"These options are those of [headworks run](#headworks-run): {names}."


def _usage(command: click.Command) -> list[str]:
    """Arguments of a command; those of a group by our own words, as click's versions differ in theirs."""
    if isinstance(command, click.Group):
        return ["[OPTIONS]", "[COMMAND]" if command.invoke_without_command else "COMMAND", "[ARGS]..."]
    return command.collect_usage_pieces(click.Context(command))


def _command(name: str) -> click.Command:
    return next(command for found, command in commands(headworks, "headworks") if found == f"headworks {name}")


def commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, by its words."""
    context = click.Context(group)
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        if command is not None:
            yield f"{name} {each}", command
            if isinstance(command, click.Group):
                yield from commands(command, f"{name} {each}")


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Options of a command as cells of a table: how each is written, and its help."""
    context = click.Context(command)
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if record is not None and isinstance(each, click.Option) and not {*each.opts} & {"--help", "--json"}:
            yield record[0].replace(" RANGE", ""), record[1]


def floors() -> dict[str, list[list[str]]]:
    """Rooms of each package by floor, the highest first, as import-linter asserts them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {
        each["containers"][0]: [re.sub(r"[() ]", "", layer).split("|") for layer in each["layers"]]
        for each in contracts
        if each["type"] == "layers" and "." not in each["containers"][0]
    }


def room_reference() -> Iterator[str]:
    """A table of each package: its floors, and the first lines of their modules' docstrings."""
    for package, rows in floors().items():
        yield f"### {package}"
        folder = next(ROOT.glob(f"*/{package}"))
        lines = [
            f"{len(rows) - at if room == row[0] else ''} | `{room}` | {_first_line(folder, room)}"
            for at, row in enumerate(rows)
            for room in row
        ]
        yield _table("floor | room | content", lines)


def _first_line(folder: Path, room: str) -> str:
    file = folder / room / "__init__.py"
    tree = ast.parse((file if file.exists() else folder / f"{room}.py").read_text(encoding="utf-8"))
    return _cell((ast.get_docstring(tree) or "").partition("\n")[0])


def rules() -> Iterator[str]:
    """Rules that bind every scheduler."""
    yield _table("rule | promise", (f"`{each.id}` | {each.statement}" for each in RULES if not each.needs))


def promises() -> Iterator[str]:
    """Rules that bind a scheduler which declares their capability."""
    rows = (f"`{each.id}` | `{each.needs}` | {each.statement}" for each in RULES if each.needs)
    yield _table("rule | capability | promise", rows)


def engine_rules() -> Iterator[str]:
    """Rules that bind an engine's adapter, in the order in which they are tried."""
    yield _table("rule | promise", (f"`{each.id}` | {each.statement}" for each in ENGINE_RULES))


def metric_reference() -> Iterator[str]:
    """Every metric with its labels, kind, meaning and stability."""
    labels = (", ".join(f"`{label}`" for label in each.labels) for each in FAMILIES)
    rows = (
        f"`{each.name}` | {names} | {each.kind} | {each.help} | {each.stability}"
        for each, names in zip(FAMILIES, labels, strict=True)
    )
    yield _table("metric | labels | kind | meaning | stability", rows)


def spark_members() -> Iterator[str]:
    """Every private class of Spark that the jar needs, as tests on Spark find them in its byte code."""
    lines = (ROOT / "tests" / "adapters" / "spark" / "private_members.txt").read_text(encoding="utf-8").splitlines()
    found = (
        (part, name, [each.replace("<init>", "new") for each in more]) for part, name, *more in map(str.split, lines)
    )
    rows = (f"{part} | `{name}` | {', '.join(f'`{each}`' for each in more)}" for part, name, more in found)
    yield _table("part | class | members", rows)


def _cell(text: str) -> str:
    """A text in a cell: Markdown's dialects differ in how they escape the mark between cells, not in HTML."""
    return re.sub(r"`([^`]*\|[^`]*)`", lambda code: f"<code>{html.escape(code[1])}</code>", text).replace("|", "&#124;")


def _table(head: str, rows: Iterable[str]) -> str:
    """A table in Markdown of a head and rows, each with its cells joined."""
    rule = "---|" * (head.count("|") + 1)
    return "\n".join((f"| {head} |", f"|{rule}", *(f"| {row} |" for row in rows)))


REFERENCES: dict[str, Callable[[], Iterator[str]]] = {
    "api": api_reference,
    "commands": command_reference,
    "engine-hooks": engine_hooks,
    "engine-rules": engine_rules,
    "hooks": hook_reference,
    "metrics": metric_reference,
    "outcomes": outcomes,
    "packages": package_reference,
    "promises": promises,
    "rules": rules,
    "rooms": room_reference,
    "schedulers": scheduler_reference,
    "spark-members": spark_members,
}


def made(page: str) -> str:
    """The text of a page with its generated parts made anew."""

    def anew(block: re.Match[str]) -> str:
        parts = "\n\n".join(REFERENCES[block["name"]]())
        return f"{block['head']}\n{parts}\n\n{block['end']}"

    return BLOCK.sub(anew, page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")
