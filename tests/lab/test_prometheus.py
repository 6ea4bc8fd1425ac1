"""Alert rules and the dashboard, held against a real Prometheus (Debian's package `prometheus`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
import yaml

from every_metric import shown
from headworks_local.ports import Ports
from patience import PATIENCE
from shell import called, running

missing = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs {' and '.join(missing)} of Debian's package prometheus")

PAGE = Path(__file__).parents[2] / "docs" / "control-loop.md"
AT = 'job="headworks",instance="a"'
GOOD, BAD = 9, 60
"""Minutes for which all is well, and then nothing is."""
SERIES = {
    "HeadworksDown": [(f"up{{{AT}}}", 1, "0+0")],
    "HeadworksRoundsFail": [(f'headworks_rounds_total{{{AT},outcome="held"}}', 0, "1+1")],
    "HeadworksPlansMiss": [(f'headworks_rounds_total{{{AT},outcome="rolled-back"}}', 0, "1+1")],
    "HeadworksTasksUnplaced": [(f'headworks_unplaced_tasks{{{AT},reason="cpu"}}', 0, "2+0")],
    "HeadworksNodesOverloaded": [(f'headworks_nodes{{{AT},state="overloaded"}}', 0, "1+0")],
    "HeadworksPredictionOff": [
        (f'headworks_traffic_share{{{AT},of="predicted"}}', 0.2, "0.2+0"),
        (f'headworks_traffic_share{{{AT},of="measured"}}', 0.2, "0.4+0"),
    ],
    "HeadworksPluginErrors": [(f'headworks_plugin_errors_total{{{AT},plugin="p",hook="h"}}', 0, "1+1")],
    "HeadworksReportsLost": [(f'headworks_reports_total{{{AT},fate="crowded"}}', 0, "1+1")],
}
"""By alert, the series that let it fire: its value while all is well, then its value and its growth in a minute."""


def promtool(*words, folder):
    done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def case(alert, series):
    """A test of promtool: the alert does not fire while all is well, and fires later."""
    counted = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    rows = [{"series": name, "values": f"{good}+0x{GOOD} {bad}x{BAD}"} for name, good, bad in series]
    looks = [
        {"expr": counted, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": value}]}
        for minute, value in ((GOOD, 0), (GOOD + BAD, 1))
    ]
    return {"interval": "1m", "input_series": rows, "promql_expr_test": looks}


def test_each_alert_fires_when_it_should_and_not_before(tmp_path):
    rules = tmp_path / "headworks-alerts.yaml"
    rules.write_text(called("metrics", "alerts").stdout)
    assert f"{len(SERIES)} rules found" in promtool("check", "rules", rules.name, folder=tmp_path)
    assert {each["alert"] for each in yaml.safe_load(rules.read_text())["groups"][0]["rules"]} == SERIES.keys()
    tests = [case(alert, series) for alert, series in SERIES.items()]
    whole = {"rule_files": [rules.name], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(whole))
    promtool("test", "rules", "tests.yaml", folder=tmp_path)


def settings(target):
    """The settings of the page, for metrics at another address, and often read."""
    section = PAGE.read_text().partition("\n## Metrics\n")[2]
    (text,) = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    found = yaml.safe_load(text.replace("127.0.0.1:9464", target))
    return {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, **found}


def test_prometheus_reads_a_loop_as_the_page_says_and_answers_rules_and_dashboard(tmp_path):
    (tmp_path / "headworks-alerts.yaml").write_text(called("metrics", "alerts").stdout)
    board = json.loads(called("metrics", "dashboard").stdout)
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    with shown() as (url, _), Ports() as ports:
        (port,) = ports.take()
        (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(settings(urlsplit(url).netloc)))
        words = ("--config.file=prometheus.yaml", "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{port}")
        with running(*words, folder=tmp_path, program=("prometheus",), stderr=subprocess.DEVNULL):

            def ask(path):
                with urlopen(f"http://127.0.0.1:{port}/api/v1/{path}") as answer:
                    return json.load(answer)["data"]

            def value(query):
                filled = query.replace("$__rate_interval", "1m").replace("$instance", ".*")
                return [float(each["value"][1]) for each in ask(f"query?query={quote(filled)}")["result"]]

            until(lambda: value('count_over_time(up{job="headworks"}[1m]) > 2'))
            until(lambda: all(each["health"] == "ok" for each in ask("rules")["groups"][0]["rules"]))
            assert [each for each in queries if not value(each)] == []
            assert value('headworks_rounds_total{outcome="executed"}') == [1.0]
            alerts = {(each["labels"]["alertname"], each["state"]) for each in ask("alerts")["alerts"]}
            assert alerts == {("HeadworksTasksUnplaced", "pending")}


def until(condition):
    """Wait until something is so; until then Prometheus may not listen yet."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"not within {PATIENCE:.0f} s")
