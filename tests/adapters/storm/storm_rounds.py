"""Rounds as the bridge in Nimbus writes them, for tests."""

from __future__ import annotations

import json
from typing import Any

Data = dict[str, Any]
CPU, ON, OFF, MEMORY = "cpu.pcore.percent", "onheap.memory.mb", "offheap.memory.mb", "memory.mb"


def supervisor(name: str, *, ports: tuple[int, ...] = (6700, 6701), cpu: float = 400.0, **more: Any) -> Data:
    resources = {CPU: cpu, MEMORY: 4096.0}
    plain = {"host": name, "rack": "/default-rack", "ports": list(ports), "resources": resources, "blacklisted": False}
    return {"id": name, **plain, "machine": None, "bandwidth": None, **more}


def component(name: str, executors: list[int], *, kind: str = "bolt", inputs: Any = (), cpu: float = 10.0) -> Data:
    resources = {CPU: cpu, ON: 128.0, OFF: 0.0}
    return {"id": name, "type": kind, "resources": resources, "executors": executors, "inputs": list(inputs)}


def topology(name: str, *components: dict[str, Any], slots: Any = (), assignment: Any = None, **more: Any) -> Data:
    count = sum(len(each["executors"]) // 2 for each in components)
    plain = {"name": name, "owner": "ann", "priority": 29, "workers": 2, "heap": 768.0, "conf": {}}
    placed = {"slots": [list(slot) for slot in slots], "assignment": assignment or [-1] * count}
    return {"id": name, **plain, "components": list(components), **placed, **more}


def word_count(name: str = "wc", **more: Any) -> Data:
    """1 spout, 2 bolts and 1 acker executor: tasks 1 (acker), 2-3 (count), 4 (spout)."""
    return topology(
        name,
        component("__acker", [1, 1], kind="system"),
        component("count", [2, 2, 3, 3], inputs=[["lines", "default", "fields"]]),
        component("lines", [4, 4], kind="spout"),
        **more,
    )


def round_text(supervisors: Any, topologies: Any, *, number: int = 1, **more: Any) -> str:
    document = {"v": 1, "nimbus": "n", "round": number, "timeout": 5000, "isolation": {}}
    return json.dumps({**document, "supervisors": list(supervisors), "topologies": list(topologies), **more})
