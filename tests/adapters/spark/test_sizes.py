"""Sizes that Spark tells piece by piece: memory of executors with their settings, state with its operators."""

from __future__ import annotations

import pytest

from headworks.model import Component, Topology
from headworks_spark.driver.operators import PlanNode, by_stage
from headworks_spark.events.sizes import amount, executor_memory, megabytes, state_of

PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
POD = {"spark.master": "k8s://https://api"}


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [
        ("512m", "m", 512),
        ("2g", "m", 2048),
        ("1gb", "m", 1024),
        ("300", "m", 300),
        ("1048576", "b", 1),
        ("64K", "m", 1 / 16),
    ],
)
def test_sizes_are_read_as_spark_reads_them(text, unit, size):
    assert megabytes(text, unit) == size
    assert megabytes("", unit) == megabytes("much", unit) == 0.0


@pytest.mark.parametrize(
    ("conf", "size"),
    [
        ({}, 1000.0),
        ({"spark.memory.offHeap.size": "1g"}, 1000.0),  # not used
        ({"spark.memory.offHeap.size": "1073741824", "spark.memory.offHeap.enabled": "TRUE"}, 2024.0),
        ({"spark.executor.pyspark.memory": "200m"}, 1200.0),
        ({"spark.executor.memoryOverhead": "500m"}, 1000.0),  # a Worker has no container
        ({"spark.master": "yarn"}, 1384.0),
        ({**POD, "spark.executor.memoryOverheadFactor": "0.5"}, 1500.0),
        ({**POD, "spark.executor.memoryOverhead": "700"}, 1700.0),
    ],
)
def test_memory_of_an_executor_is_its_heap_and_what_lies_beside_it(conf, size):
    assert executor_memory(1000.0, lambda name: conf.get(name, "")) == size


@pytest.mark.parametrize(
    ("text", "found"),
    [("125000000", 1.25e8), ("1e6", 1e6), ("0", 0.0), *[(text, None) for text in ("", "nan", "inf", "-1", "1 Gbit/s")]],
)
def test_an_amount_is_finite_and_not_negative_or_not_known(text, found):
    assert amount(text) == found


def test_state_is_in_equal_parts_on_the_tasks_of_the_stages_whose_operators_keep_it():
    parts = {"in": 1, "mid": 2, "end": 4}
    query = Topology(id="q", components=tuple(Component(id=name, parallelism=count) for name, count in parts.items()))
    stages = {"in": 0, "mid": 1, "end": 2}

    def found(operators, sizes, known=stages):
        return dict(state_of(query, known, operators, sizes))

    assert found([(), (1,), (0,)], (8e6, 4e6)) == {"mid": 2.0, "end": 2.0}
    assert found([(), (), (0, 1)], (8e6, 4e6)) == {"end": 3.0}  # the one before only deals rows anew
    assert found([(), (1,), (0,)], (8e6, 4e6), {"end": 2}) == {"end": 2.0}
    assert found([(), (1,), (0,)], ()) == found([()], (8e6,)) == {}


SOURCE = PlanNode("ShuffleExchangeExec", (PlanNode("MicroBatchScanExec"),))


def test_operators_are_those_of_the_stage_above_their_exchange():
    apart = PlanNode("StreamingDeduplicateExec", (SOURCE,), 1)
    counted = PlanNode("StateStoreSaveExec", (PlanNode("ShuffleExchangeExec", (apart,)),), 0)
    assert by_stage(PlanNode("WriteToDataSourceV2Exec", (counted,))) == ((), (1,), (0,))
    assert by_stage(PlanNode("StateStoreSaveExec", (apart,), 0)) == ((), (0, 1))


def test_both_sides_of_a_join_come_before_it_and_a_table_that_is_broadcast_is_no_stage():
    left = PlanNode("ShuffleExchangeExec", (PlanNode("StateStoreSaveExec", (SOURCE,), 1),))
    small = PlanNode("BroadcastExchangeExec", (SOURCE,))
    right = PlanNode("ShuffleExchangeExec", (PlanNode("BroadcastHashJoinExec", (PlanNode("ScanExec"), small)),))
    assert by_stage(PlanNode("StreamingSymmetricHashJoinExec", (left, right), 0)) == ((), (1,), (), (0,))
