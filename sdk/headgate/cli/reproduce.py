"""`headgate reproduce`: printed figures of the papers beside what this code finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.cli.output import console, emit, json_option, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.claims import Result
    from headgate.hooks import Claim
    from headgate.host import PluginHost


@click.command("reproduce")
@click.argument("plugin", required=False)
@click.option("--claim", "wanted", multiple=True, help="Only this claim, repeatable.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the charts here.")
@json_option
@click.pass_context
def command(
    context: click.Context, /, *, plugin: str | None, wanted: tuple[str, ...], html: Path | None, as_json: bool
) -> None:
    """Recompute the figures that the paper of PLUGIN prints, of every plugin by default.

    A figure that is computed from the paper alone is exact; predicted, if from a model that was not fitted to it;
    calibrated (k), if from one with k fitted numbers; not reproducible, because of what the note says. Exit code 1:
    some figure differs from what its plugin expects.
    """
    from headgate.cli.evidence import evidence
    from headgate.documents import unstructure, write_text
    from headgate.host import PluginHost

    host = PluginHost.load()
    names = [plugin] if plugin else host.having("headgate_claims")
    claims = {name: _claims(host, name, wanted) for name in names}
    claims = {name: made for name, made in claims.items() if made}
    if not claims:
        what = f"claim {', '.join(wanted)}" if wanted else "claims"
        say(f"{plugin} has no {what}" if plugin else f"no plugin has {what}")
        context.exit(2)
    found = _recompute(claims)
    results = [result for each in found.values() for result in each]
    emit(unstructure(results), *([] if as_json else evidence(found)), as_json=as_json)
    if html is not None:
        from headgate.evidence import evidence_page

        papers = {name: host.describe(name).paper for name in found}
        write_text(html, evidence_page(found, papers))
        say(f"wrote {html}")
    context.exit(1 if any(each.status == "differs" for each in results) else 0)


def _claims(host: PluginHost, name: str, wanted: Sequence[str]) -> list[Claim]:
    return [claim for claim in host.claims(name) if not wanted or claim.id in wanted]


def _recompute(claims: dict[str, list[Claim]]) -> dict[str, list[Result]]:
    """Every claim, with a bar on stderr, or a line a plugin where stderr is no terminal."""
    from rich.progress import Progress

    from headgate.claims import reproduce

    found: dict[str, list[Result]] = {name: [] for name in claims}
    out = console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        at = bar.add_task("", total=sum(map(len, claims.values())))
        for name, each in claims.items():
            if bar.disable:
                say(f"{name}: {len(each)} figures")
            for claim in each:
                bar.update(at, description=f"{name}: {claim.id}")
                found[name].append(reproduce(claim, name))
                bar.advance(at)
    return found
