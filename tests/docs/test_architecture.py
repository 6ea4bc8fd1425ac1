"""The floors that import-linter asserts have every module of a package."""

import pytest

from doc_reference import ROOT, floors

DATA = {"__init__", "__main__", "__pycache__", "java", "migrations"}


@pytest.mark.parametrize(
    "package",
    ["headworks", "headworks_spark", "headworks_storm", "headworks_pipeline", "headworks_manager", "headworks_sim"],
)
def test_each_module_is_on_a_floor(package):
    folder = next(ROOT.glob(f"*/{package}"))
    there = {each.name.removesuffix(".py") for each in folder.iterdir() if each.suffix in ("", ".py")}
    assert {room for row in floors()[package] for room in row} == there - DATA
