"""The engine contract on Spark, for a pytest of its own: a process has one Spark session, and tests share theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headworks.testing import EngineContract, EngineTrial
from patience import PATIENCE
from spark_kills import kill_worker

APPLICATION = Path(__file__).parents[2] / "examples" / "spark" / "word_count.py"


def lose(target, node):
    kill_worker(target.members[0].cluster, node)


def stop(target):
    for query in target.spark.streams.active:
        query.stop()


@pytest.mark.spark
@pytest.mark.usefixtures("java")
class TestSpark(EngineContract):
    """A cluster and a session of its own, both opened twice."""

    @pytest.fixture
    def engine_trial(self):
        return EngineTrial(
            engine="spark",
            application=(str(APPLICATION),),
            window=1.0,
            budget=PATIENCE,
            patience=PATIENCE,
            fail_node=lose,
            end=stop,
        )
