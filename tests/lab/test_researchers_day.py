"""The notebook of a researcher's day runs from its first cell to its last, and shows what its cells end with."""

from __future__ import annotations

import ast
import csv
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "researchers-day.ipynb"


def run(source, names):
    """Run a cell as a notebook does: the value of its last expression, None if it ends with another statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)


def shown(value):
    """What a notebook shows of a value."""
    page = getattr(value, "_repr_html_", None)
    return repr(value) if page is None else page()


def test_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    names = {"__name__": "__main__"}
    pages = [shown(run("".join(cell["source"]), names)) for cell in cells]
    assert sum("<svg" in page for page in pages) == 3  # plans, curves, and bars
    assert "dstorm has " in pages[-2]
    rows = list(csv.DictReader((tmp_path / "sweep.csv").read_text().splitlines()))
    assert len(rows) == 12
    assert {"workload", "scheduler", "seed", "engine", "network", "scheduler_version", "engine_commit"} <= set(rows[0])
    assert len(list(tmp_path.glob("dstorm-linear-*.svg"))) >= 4
