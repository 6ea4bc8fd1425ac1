"""Classes and members of Spark that the jar stands on: in its byte code, in the documents, and in a Spark."""

from __future__ import annotations

import zipfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headworks_local.java import find_java
from headworks_spark.driver.jar import MEMBERS, scheduler_jar, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PARTS = ("core", "connect", "kubernetes", "yarn")
LIST = Path(__file__).with_name("private_members.txt")
PUBLIC = (
    "SparkConf ",
    "SparkContext <init>",
    "SparkContext addSparkListener",
    "SparkContext conf",
    "SparkContext deployMode",
    "SparkContext master",
    "SparkContext removeSparkListener",
    "SparkContext version",
    "SparkEnv ",
    "TaskFailedReason ",
    "api.plugin.",
    "executor.",
    "resource.ResourceInformation ",
    "resource.ResourceProfile ",
    "resource.TaskResourceRequest ",
    "scheduler.AccumulableInfo ",
    "scheduler.SparkListener",
    "scheduler.StageInfo ",
    "scheduler.TaskInfo ",
    "scheduler.TaskLocality",
    "scheduler.cluster.ExecutorInfo ",
    "sql.Encoder",
    "sql.RuntimeConfig ",
    "sql.SparkSession ",
    "sql.connect.plugin.",
    "sql.streaming.",
    "status.api.v1.",
    "storage.RDDInfo ",
)
"""Begins of what Spark documents for its users."""


@pytest.fixture(scope="module")
def needed(java: None) -> list[list[str]]:
    """Part, kind, class, and name and descriptor of a member."""
    with zipfile.ZipFile(scheduler_jar(spark_home())) as archive:
        return [line.split() for line in archive.read(MEMBERS).decode().splitlines()]


def private(needed: list[list[str]]) -> list[str]:
    """A line of each part and class, with its members: without those that Spark documents."""
    words = ((part, name.removeprefix("org.apache.spark."), *more[:1]) for part, _, name, *more in needed)
    kept = sorted({each for each in words if not f"{' '.join(each[1:])} ".startswith(PUBLIC)})
    groups = [(*key, *(name for each in group for name in each[2:])) for key, group in groupby(kept, lambda e: e[:2])]
    used = {name for _, name, *more in groups if more}
    # Where a part only hands one on, it is in the line of another part.
    return [" ".join(each) for each in groups if len(each) > 2 or each[1] not in used]


def test_the_documents_have_the_private_ones(needed: list[list[str]]) -> None:
    if find_java().compiler is None:
        pytest.skip("needs a JDK: Spark's own compiler names more classes than it uses")
    parts = {each[0] for each in needed}
    listed = [line for line in LIST.read_text().splitlines() if line.split()[0] in parts]
    assert private(needed) == listed


def test_what_is_called_and_what_is_overridden_is_in_the_list(needed: list[list[str]]) -> None:
    found = {(kind, name.rpartition(".")[2], *more[:1]) for _, kind, name, *more in needed}
    assert {("method", "TaskSetManager", name) for name in ("<init>", "dequeueTaskHelper", "numTasks")} <= found
    # No class of the jar calls what it overrides here.
    assert {
        ("interface", "ExternalClusterManager", "canCreate"),
        ("method", "YarnClusterManager", "canCreate"),
    } <= found
    assert ("field", "TaskLocality$", "MODULE$") in found


@pytest.mark.parametrize("part", PARTS)
def test_this_spark_lacks_none(spark: SparkSession, needed: list[list[str]], part: str) -> None:
    jvm: Any = spark.sparkContext._jvm
    assert list(jvm.headworks.spark.SparkMembers.missing(part)) == []
    assert any(each[0] == part for each in needed) is (part not in spark_home().absent)
