"""The rooms that `docs/architecture.md` shows are the floors that import-linter asserts."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
FLOORS = {
    contract["containers"][0]: [re.sub(r"[() ]", "", layer).split("|") for layer in contract["layers"]]
    for contract in CONTRACTS
    if contract["type"] == "layers"
}


def column_of(package):
    """Names in the column under a package's name, floor by floor."""
    lines = [[cell.strip() for cell in line.split("|")] for line in PAGE.splitlines()]
    head = next(i for i, cells in enumerate(lines) if f"`{package}`" in cells and "---" in lines[i + 1])
    column = lines[head].index(f"`{package}`")
    floors = []
    for cells in lines[head + 2 :]:
        if len(cells) <= column:
            break
        floors += [re.findall(r"`(\w+)`", cells[column])] if cells[column] else []
    return floors


@pytest.mark.parametrize(
    "package",
    ["headworks", "headworks_spark", "headworks_storm", "headworks_pipeline", "headworks_manager", "headworks_sim"],
)
def test_the_page_shows_the_floors_that_are_asserted(package):
    shown = [sorted(floor) for floor in column_of(package)]
    assert shown == [sorted(floor) for floor in FLOORS[package]]
    folder = next(ROOT.glob(f"*/{package}"))
    there = {each.name.removesuffix(".py") for each in folder.iterdir() if each.suffix in ("", ".py")}
    data = {"__init__", "__main__", "__pycache__", "java", "migrations"}
    assert {name for floor in shown for name in floor} == there - data


def test_spark_s_task_scheduler_is_as_large_as_the_page_says():
    (said,) = re.findall(r"some ([\d,]+) lines of Java", (ROOT / "docs" / "architecture.md").read_text())
    files = (ROOT / "adapters" / "headworks_spark" / "java").rglob("*.java")
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert abs(int(said.replace(",", "")) - lines) < 150
