"""One plugin file, unchanged, runs on Storm and on Spark, and tasks run where it asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("both_engines.py")
LIMIT = 1740
"""Seconds after which the program is taken to hang; on an idle machine it takes two minutes."""
STRANGER = '''
"""A stranger's scheduler: every task goes to the next node, the last node first."""

from headworks.hooks import Description, hookimpl


class Backwards:
    """Deal tasks over the nodes, beginning with the last."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_schedule(self, problem):
        return problem.plan([problem.m - 1 - index % problem.m for index in range(problem.n)])


plugin = Backwards()
'''


@pytest.fixture(scope="module")
def found(java: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict]]:
    file = tmp_path_factory.mktemp("stranger") / "stranger.py"
    file.write_text(STRANGER)
    done = subprocess.run([sys.executable, str(PROGRAM), str(file)], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(LIMIT + 60)
class TestBothEngines:
    @pytest.mark.parametrize("engine", ["storm", "spark"])
    @pytest.mark.parametrize("name", ["dstorm", "backwards"])
    def test_tasks_run_where_the_scheduler_asked(self, found, engine, name) -> None:
        told = found[engine][name]
        assert told["by"] == name
        assert told["outcome"] == "executed", told
        assert told["hits"] == told["asked"] > 0
        assert told["nodes"] == told["planned"]

    @pytest.mark.parametrize("engine", ["storm", "spark"])
    def test_dstorm_packs_a_light_load_on_one_node(self, found, engine) -> None:
        assert len(found[engine]["dstorm"]["nodes"]) == 1

    @pytest.mark.parametrize("engine", ["storm", "spark"])
    def test_a_stranger_s_file_deals_tasks_over_all_nodes(self, found, engine) -> None:
        assert len(found[engine]["backwards"]["nodes"]) == 3
