"""`headworks schema`: the JSON Schemas of all documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from headworks.cli.installed import plugins
from headworks.cli.output import say
from headworks.errors import known_names

if TYPE_CHECKING:
    from collections.abc import Mapping


def _names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.catalogue import schemas

    return [CompletionItem(name) for name in schemas(plugins(context)) if name.startswith(begun)]


@click.command("schema")
@click.argument("document", required=False, shell_complete=_names)
@click.option(
    "-O", "--output", type=click.Path(file_okay=False, path_type=Path), help="Write every schema to this folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schemas always are).")
def command(*, document: str | None, output: Path | None, as_json: bool) -> None:
    """Print the schema of DOCUMENT (request, plan, ...), or name the documents."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.catalogue import schemas

    found = schemas(plugins())
    if output is not None:
        # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
        from headworks.documents import write_text

        for name, schema in found.items():
            write_text(output / f"{name}.json", _text(schema) + "\n")
        say(f"wrote {len(found)} schemas to {output}")
        return
    if document is None:
        click.echo(json.dumps(list(found)) if as_json else "\n".join(found))
        return
    if document not in found:
        raise click.UsageError(f"there is no document {document!r}{known_names(document, found)}")
    click.echo(_text(found[document]))


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2)
