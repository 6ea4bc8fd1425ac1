"""One plugin file, unchanged, runs on Storm and on Spark, and tasks run where it asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.errors import EngineError
from headgate.java import find_java

PROGRAM = Path(__file__).parents[1] / "both_engines.py"
STRANGER = '''
"""A stranger's scheduler: every task goes to the next node, the last node first."""

from headgate.hooks import Description, hookimpl


class Backwards:
    """Deal tasks over the nodes, beginning with the last."""

    @hookimpl
    def headgate_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headgate_schedule(self, request):
        problem = request.problem()
        return problem.plan([problem.m - 1 - index % problem.m for index in range(problem.n)])


plugin = Backwards()
'''


def both(*words: object) -> dict[str, dict]:
    try:
        find_java()
    except EngineError as error:
        pytest.skip(f"needs a Java runtime: {error}")
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def check(found: dict[str, dict], name: str) -> None:
    for engine, told in found.items():
        assert told["by"] == name
        assert told["outcome"] in ("executed", "unchanged"), (engine, told)
        if told["outcome"] == "executed":
            assert told["hits"] == told["asked"] > 0
        assert told["nodes"] == told["planned"], engine


@pytest.mark.spark
@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(500)
class TestBothEngines:
    def test_dstorm_packs_a_light_load_on_one_node_of_either_engine(self) -> None:
        found = both("dstorm")
        check(found, "dstorm")
        assert {engine: len(told["nodes"]) for engine, told in found.items()} == {"storm": 1, "spark": 1}
        assert {told["outcome"] for told in found.values()} == {"executed"}

    def test_a_stranger_s_file_deals_tasks_over_all_nodes_of_either_engine(self, tmp_path: Path) -> None:
        file = tmp_path / "stranger.py"
        file.write_text(STRANGER)
        found = both("backwards", file)
        check(found, "backwards")
        assert {engine: len(told["nodes"]) for engine, told in found.items()} == {"storm": 3, "spark": 3}
        assert found["storm"]["outcome"] == "executed"
