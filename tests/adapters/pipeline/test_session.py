"""Sessions: settings that a user adds, and sessions that spark-submit gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headworks.errors import OptionError
from headworks_pipeline import submit
from headworks_pipeline.session import SQL, SUBMITTED, SessionConfig, settings
from pipeline_command import PATIENCE
from pipeline_samples import FIRST, task_row, write

pyspark = pytest.importorskip("pyspark")


def test_settings_of_a_user_win():
    found = settings(SessionConfig(conf=("spark.ui.enabled=true", "spark.x=a=b"), packages="g:a:1,g:b:2"))
    assert (found["spark.ui.enabled"], found["spark.x"], found["spark.jars.packages"]) == ("true", "a=b", "g:a:1,g:b:2")
    assert found["spark.master"] == "local[*]"
    assert SQL.items() <= found.items()


@pytest.mark.parametrize("text", ["", "spark.x", "=1"])
def test_a_setting_that_is_none_is_an_error(text):
    with pytest.raises(OptionError, match="is not a setting of Spark's"):
        settings(SessionConfig(conf=(text,)))


def test_a_submitted_program_leaves_master_memory_and_log_to_who_submitted_it(monkeypatch):
    monkeypatch.setenv(SUBMITTED, "1234")
    assert settings(SessionConfig(master="local[9]", conf=("spark.x=1",))) == SQL | {"spark.x": "1"}


@pytest.mark.matrix  # the test before it has what such a program leaves to who submitted it
@pytest.mark.spark
def test_spark_submit_runs_the_pipeline(tmp_path):
    """The event log, which Spark writes, says which application ran, where, and with which settings."""
    write(tmp_path / "raw" / FIRST / "a.parquet", [task_row(number) for number in range(9)])
    log = tmp_path / "events"
    log.mkdir()
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    own = ("--master", "local[1]", "--name", "nightly", "--conf", "spark.eventLog.enabled=true")
    own = (*own, "--conf", "spark.eventLog.compress=false")
    words = (
        *own,
        "--conf",
        f"spark.eventLog.dir={log.as_uri()}",
        submit.__file__,
        tmp_path / "raw",
        "-O",
        tmp_path / "out",
    )
    done = subprocess.run(
        [program, *words, "--conf", "spark.sql.shuffle.partitions=3"],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["rows"] == {"": 9}
    files = [each for each in log.rglob("*") if each.is_file() and not each.name.startswith(("appstatus", "."))]
    events = [json.loads(line) for each in files for line in each.read_text().splitlines()]
    (environment,) = [each for each in events if each["Event"] == "SparkListenerEnvironmentUpdate"]
    assert environment["Spark Properties"]["spark.master"] == "local[1]"
    assert "SparkListenerJobEnd" in {each["Event"] for each in events}
