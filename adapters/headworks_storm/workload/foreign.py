"""Documents of Storm that are no requests, and what to do with them instead."""

from __future__ import annotations

from typing import Any

RECORD = "`headworks serve storm --shadow --journal rounds.jsonl` records requests of what runs on a cluster"
FLUX = (
    "this is a topology of Flux, whose classes only Storm can build: `headworks storm submit --jar JAR "
    f"--class org.apache.storm.flux.Flux -- --remote FILE` submits it, and {RECORD}"
)
ANSWER = (
    "this is what Storm's UI answers for a topology; it names no nodes and no traffic between tasks: "
    f"{RECORD}, and `headworks journal diff rounds.jsonl -s dstorm` plans them"
)


def recognise(document: Any) -> str:
    """Say what a document of Storm is, and the command that takes it; "" if it is none that is known here.

    Args:
        document: The plain data.
    """
    keys = document.keys() if isinstance(document, dict) else set()
    if "topologyStats" in keys:
        return ANSWER
    return FLUX if "topologySource" in keys or {"streams", "spouts"} <= keys else ""
