"""What people of Storm have at hand and give as a request: it is named, with the command that takes it."""

from __future__ import annotations

import json

import pytest

from headworks import PluginHost, plan
from headworks.errors import DocumentError
from headworks_storm.workload.find import find_submission
from shell import called

FLUX = """
name: "orders"
config: {topology.workers: 2}
components:
  - id: "scheme"
    className: "org.example.Scheme"
spouts:
  - id: "read"
    className: "org.example.Read"
    parallelism: 2
bolts:
  - id: "count"
    className: "org.example.Count"
streams:
  - from: "read"
    to: "count"
    grouping: {type: FIELDS, args: [word]}
"""
BUILT = "name: orders\ntopologySource: {className: org.example.Orders}\n"
ANSWER = {"id": "orders-1-1", "name": "orders", "topologyStats": [], "spouts": [], "bolts": [], "workersTotal": 2}


@pytest.mark.parametrize("text", [FLUX, BUILT])
def test_a_topology_of_flux_is_named_with_the_command_that_submits_it(tmp_path, text):
    file = tmp_path / "orders.yaml"
    file.write_text(text)
    for ask in (lambda: plan(file, "dstorm"), lambda: plan(str(file), "dstorm"), lambda: submitted(file)):
        with pytest.raises(
            DocumentError, match=r"this is a topology of Flux.* `headworks storm submit --jar"
        ) as caught:
            ask()
        assert caught.value.source == str(file)
    done = called("plan", str(file))
    assert done.returncode == 2
    assert "--class org.apache.storm.flux.Flux" in done.stderr


def submitted(file):
    return find_submission(str(file), PluginHost.load())


def test_what_storms_ui_answers_is_named_with_the_command_that_records_requests(tmp_path):
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(ANSWER))
    with pytest.raises(DocumentError, match=r"Storm's UI answers.*`headworks serve storm --shadow --journal"):
        plan(file, "dstorm")
    done = called("plan", "-", stdin=json.dumps(ANSWER))
    assert done.returncode == 2
    assert "headworks journal diff" in done.stderr


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("storm", "submit"), ("--jar", "--class")),
        (("serve", "storm"), ("--shadow", "--journal")),
        (("journal", "diff"), ("-s",)),
    ],
)
def test_the_commands_that_are_named_are_there(words, options):
    said = called(*words, "--help").stdout
    assert all(f" {each}" in said for each in options)


@pytest.mark.parametrize("data", [[], 1, None, {"topology": 1}, {"streams": []}])
def test_any_other_document_keeps_its_own_error(tmp_path, data):
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(data))
    with pytest.raises(DocumentError) as caught:
        plan(file, "dstorm")
    assert "Storm" not in str(caught.value)
