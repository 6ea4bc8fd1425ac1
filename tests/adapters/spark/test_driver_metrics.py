"""What became of placed tasks, as Spark's own metrics of the driver tell it over HTTP."""

from __future__ import annotations

import json
from urllib.request import urlopen

import pytest

from adapters.spark.spark_jobs import PARTITIONS, rotation, three_stages
from headworks_spark.placement.table import PlacementTable

pytestmark = pytest.mark.spark

REASONS = {"adaptive", "barrier", "busy", "crowded", "failed", "fault", "gone", "held", "shape"}
SCOPE = "metrics"


def shown(spark):
    """Headworks's metrics among those of the driver, by name."""
    with urlopen(f"{spark.sparkContext.uiWebUrl}/metrics/json/") as page:
        found = json.load(page)
    prefix = f"{spark.sparkContext.applicationId}.driver.headworks."
    values = {name: each["count"] for name, each in found["counters"].items()}
    values |= {name: each["value"] for name, each in found["gauges"].items()}
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def test_the_driver_counts_tasks_that_ran_as_asked_and_others_by_reason(spark):
    placement, places, tasks = PlacementTable.of(spark), rotation(0, stages=3), 3 * PARTITIONS
    before = shown(spark)
    assert before.keys() == {"placed", "scopes"} | {f"left.{reason}" for reason in REASONS}
    placement.push(SCOPE, places)
    assert three_stages(spark, SCOPE) == places
    after = shown(spark)
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert changed == {"placed": tasks, "scopes": 1}
    placement.push(SCOPE, places, dict.fromkeys(range(3), "another stage"))
    three_stages(spark, SCOPE)
    assert shown(spark) == after | {"left.shape": after["left.shape"] + tasks}
    placement.clear(SCOPE)
    assert shown(spark)["scopes"] == before["scopes"]
