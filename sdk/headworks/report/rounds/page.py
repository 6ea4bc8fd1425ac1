"""The page of a journal's rounds: its skeleton, and the whole page in one file with the rounds inside."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from headworks.errors import DocumentError
from headworks.report.rounds.scene import moved, scene, summary, why
from headworks.report.style import BASE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks.report.decisions import Decision

LARGEST = 2**25
"""Bytes of placements in a page; those of the newest rounds go first. A browser takes a second for more."""
REASONS = 300
"""Tasks of a page that can be asked why they are where they are. Each takes as long as `headworks why`."""
BODY = """<h1 id="title">{title}</h1><p id="live" class="soft">{said}</p>
<h2 id="rounds-title">Rounds</h2>
<p class="soft">A bar is a round, as high as the share of the traffic between nodes. Green acted, grey had nothing to
do, yellow held a plan back, red failed. The arrow keys go from round to round.</p>
<ol id="timeline" aria-labelledby="rounds-title"></ol>
<p id="outcome" aria-live="polite"></p><p id="message"></p><dl id="figures"></dl><div id="said" class="soft"></div>
<h2>Placement</h2><p id="nothing" class="soft">No round was read yet.</p>
<p id="keys" class="soft" hidden></p><canvas id="canvas" role="img" hidden></canvas>
<div class="two"><div><div id="nodes" class="scroll" tabindex="0" role="region" aria-label="Nodes" hidden></div></div>
<div><h2 id="of">Tasks</h2><ul id="tasks" aria-labelledby="of"></ul></div></div>
<h2>Why it is there</h2><div id="why" class="scroll" tabindex="0" role="region" aria-label="Reasons" aria-live="polite">
<p class="soft">Choose a task.</p></div>
<h2>What was done</h2><div id="steps" class="scroll" tabindex="0" role="region" aria-label="Steps"></div>
<div class="two"><div><h2>Measured and promised</h2><p class="soft">The line is the share between nodes as measured. A
circle is what the plan of the round before promised.</p><div id="chart"></div></div>
<div><h2>Reasons</h2>
<div id="counts" class="scroll" tabindex="0" role="region" aria-label="Reasons by round"></div></div></div>"""


def asset(name: str) -> str:
    """The text of `rounds.css`, which begins with the look of all pages, or of `rounds.js`."""
    text = (resources.files("headworks.report.rounds") / "assets" / name).read_text(encoding="utf-8")
    return BASE + text if name.endswith(".css") else text


def skeleton(title: str, said: str, head: str, tail: str) -> str:
    """The page without its rounds.

    Args:
        title: Its heading.
        said: A line below it.
        head: Elements of its head, as HTML.
        tail: Elements at the end of its body, as HTML.
    """
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}</head>'
        f"<body><main>{BODY.format(title=escape(title), said=escape(said))}</main>{tail}</body></html>\n"
    )


def report_page(decisions: Sequence[Decision], title: str) -> str:
    """One file with a journal's rounds, which asks nobody for anything.

    Args:
        decisions: The rounds, oldest first.
        title: Its heading.
    """
    scenes = list(_newest_scenes(decisions))
    kept = {each["record"] for each in scenes}
    data = {
        "title": title,
        "rounds": [summary(each) for each in decisions],
        "scenes": scenes,
        "why": _reasons(each for each in reversed(decisions) if each.record in kept),
    }
    style, script = asset("rounds.css"), asset("rounds.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>'
    # In a block of data `<` could end the element, or begin a comment.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    tail = f'<script type="application/json" id="data">{text}</script><script>{script}</script>'
    said = f"{len(decisions)} rounds; placements of the newest {len(scenes)}"
    return skeleton(title, said, head, tail)


def _newest_scenes(decisions: Sequence[Decision]) -> Iterator[dict[str, Any]]:
    left = LARGEST
    for each in reversed(decisions):
        made = scene(each)
        left -= len(json.dumps(made, separators=(",", ":")))
        if left < 0:
            return
        yield made


def _reasons(decisions: Iterable[Decision]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    left = REASONS
    for each in decisions:
        for task in moved(each.round)[:left]:
            try:
                found.setdefault(each.record, {})[task] = why(each, task)
            except DocumentError:  # the plan has fewer tasks than run
                continue
            left -= 1
    return found


def _hash(text: str) -> str:
    """The source of a Content-Security-Policy that allows this text alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
