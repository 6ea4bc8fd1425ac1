"""`headworks reproduce`: printed figures of the papers, and improved variants, beside what this code finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from headworks.cli.installed import plugin_names, plugins
from headworks.cli.output import console, emit, json_option, say, wide_option
from headworks_lab.evidence.named import claims as claims_of
from headworks_lab.evidence.named import improvements as improvements_of
from headworks_lab.evidence.named import measured_claims, with_evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.plugins.host import PluginHost
    from headworks_lab.evidence.claims import Result
    from headworks_lab.evidence.model import Claim, Improvement
    from headworks_lab.evidence.variants import Improved

Asked = TypeVar("Asked", "Claim", "Improvement")


@click.command("reproduce")
@click.argument("plugin", required=False, shell_complete=plugin_names("headworks_schedule", "headworks_open"))
@click.option("--claim", "wanted", multiple=True, help="Only this claim or improvement, repeatable.")
@click.option("--live", is_flag=True, help="Measure the figures of PLUGIN's paper on real engines; this takes long.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the charts to this file."
)
@wide_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    plugin: str | None,
    wanted: tuple[str, ...],
    live: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    """Recompute the figures that the paper of PLUGIN prints, of every plugin by default.

    Each figure has a status: exact (from the paper alone), predicted (by a model whose numbers were not chosen for it),
    calibrated (by k chosen numbers), follows (from other figures), by the variant (of the algorithm), worked by hand,
    or not reproducible, with a note. With --live, real engines are started and measured. An improved variant is shown
    beside the published scheduler and the optimum, proved or bounded. Exit code 1: a figure differs from the
    expectation of its plugin, or a variant is worse than the published scheduler.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure, write_text
    from headworks_lab.evidence.table import evidence

    host = plugins(context)
    if live and plugin is None:
        raise click.UsageError("--live starts real engines: name the PLUGIN whose figures they measure")
    claims, improvements = _asked(host, plugin, wanted) if not live else (_live(host, plugin or "", wanted), {})
    if not claims and not improvements:
        what = f"claim {', '.join(wanted)}" if wanted else "claims"
        what += " that an engine measures" if live else ""
        say(f"{plugin} has no {what}" if plugin else f"no plugin has {what}")
        context.exit(2)
    found, improved = _recompute(host, claims, improvements)
    results = [result for each in found.values() for result in each]
    emit(unstructure([*results, *improved]), *([] if as_json else evidence(found, improved)), as_json=as_json)
    if html is not None:
        # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
        from headworks_lab.evidence.page import evidence_page

        papers = {name: host.describe(name).paper for name in found}
        write_text(html, evidence_page(found, papers, improved))
        say(f"wrote {html}")
    context.exit(1 if "differs" in {each.status for each in results} | {each.status for each in improved} else 0)


def _asked(
    host: PluginHost, plugin: str | None, wanted: Sequence[str]
) -> tuple[dict[str, list[Claim]], dict[str, list[Improvement]]]:
    """Items that the plugins name, by plugin; plugins without a wanted one are left out."""
    names = [plugin] if plugin else with_evidence()
    for name in names:
        host.plugin(name)
    claims = {name: [each for each in claims_of(name) if not wanted or each.id in wanted] for name in names}
    improvements = {name: [each for each in improvements_of(name) if not wanted or each.id in wanted] for name in names}
    return (
        {name: each for name, each in claims.items() if each},
        {name: each for name, each in improvements.items() if each},
    )


def _live(host: PluginHost, plugin: str, wanted: Sequence[str]) -> dict[str, list[Claim]]:
    """Figures that engines measure, by plugin."""
    host.plugin(plugin)
    found = [each for each in measured_claims(plugin) if not wanted or each.id in wanted]
    return {plugin: found} if found else {}


def _recompute(
    host: PluginHost, claims: dict[str, list[Claim]], improvements: dict[str, list[Improvement]]
) -> tuple[dict[str, list[Result]], list[Improved]]:
    """Every claim and improvement, with a bar on stderr, or a line a plugin where stderr is not a terminal."""
    # rich costs 60 ms, which the list of commands does not need.
    from rich.progress import Progress

    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks_lab.evidence.claims import counted_once, reproduce
    from headworks_lab.evidence.variants import improve

    out = console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        at = bar.add_task("", total=sum(map(len, claims.values())) + sum(map(len, improvements.values())))

        def each(name: str, asked: Sequence[Asked], what: str) -> Iterator[Asked]:
            if bar.disable:
                say(f"{name}: {len(asked)} {what}")
            for one in asked:
                bar.update(at, description=f"{name}: {one.id}")
                yield one
                bar.advance(at)

        found = {
            name: counted_once([reproduce(one, name) for one in each(name, asked, "figures")])
            for name, asked in claims.items()
        }
        improved = [
            improve(one, name, host)
            for name, asked in improvements.items()
            for one in each(name, asked, "improvements")
        ]
    return found, improved
