"""`headgate schema`: the JSON Schemas of all documents."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headgate.cli.output import say


@click.command("schema")
@click.argument("document", required=False)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Write every schema here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schemas always are).")
def command(*, document: str | None, output: Path | None, as_json: bool) -> None:
    """Print the schema of DOCUMENT (request, plan, ...), or name the documents."""
    from headgate.catalogue import documents
    from headgate.schema import schema_of

    if output is not None:
        from headgate.documents import write_text

        for name, kind in documents().items():
            write_text(output / f"{name}.json", json.dumps(schema_of(kind), indent=2) + "\n")
        say(f"wrote {len(documents())} schemas to {output}")
        return
    kinds = documents()
    if document is None:
        click.echo(json.dumps(sorted(kinds)) if as_json else "\n".join(sorted(kinds)))
        return
    if document not in kinds:
        raise click.BadParameter(f"no document {document!r}; there are: {', '.join(sorted(kinds))}")
    click.echo(json.dumps(schema_of(kinds[document]), indent=2))
