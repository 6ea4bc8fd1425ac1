"""The page of a journal's rounds, as one file and as it is followed."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import threading
import urllib.error
import urllib.request

import pytest

from headworks.control.journal import FileJournal, read_journal
from headworks.errors import DocumentError
from headworks.report.decisions import read_decisions
from headworks.report.rounds.live import application, cookie
from headworks.report.rounds.page import asset, report_page
from headworks.report.rounds.scene import moved, scene, summary, why
from headworks.report.rounds.tail import JournalTail
from headworks_local.http_server import HttpServer
from rounds_journal import recorded, renamed
from shell import called

TOKEN = "a-secret-that-is-long-enough"


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("rounds"))


@pytest.fixture(scope="module")
def decisions(journal):
    return list(read_decisions(read_journal(journal)))


def test_a_summary_has_what_was_measured_beside_what_the_plan_promises(decisions):
    first, second, _ = map(summary, decisions)
    assert (first["record"], first["outcome"], first["scheduler"]) == (1, "executed", "dstorm")
    assert (first["planned"]["moves"], first["measured"]["unplaced"], first["planned"]["unplaced"]) == (0, 16, 0)
    assert second["measured"]["share"] == pytest.approx(first["planned"]["share"], abs=0.01)
    assert (first["hits"], first["asked"]) == (16, 16)


@pytest.mark.parametrize("number", [0, 1])
def test_a_scene_has_every_task_where_it_was_and_where_it_goes(decisions, number):
    done, found = decisions[number].round, scene(decisions[number])
    ids = [each["id"] for each in found["nodes"]]
    tasks = found["tasks"]
    for part, index, before, after in zip(
        *(tasks[name] for name in ("component", "index", "before", "after")), strict=True
    ):
        task = f"{found['components'][part]}/{index}"
        running = done.request.assignment.get(task)
        assert (ids[before] if before >= 0 else None) == (running and running.node)
        assert ids[after] == done.plan.assignment[task].node
    assert sum(rate for *_, rate in found["flows"]) == pytest.approx(done.plan.scores.inter_node, rel=1e-4)
    used = [each["after"] for each in found["nodes"] if each["after"]]
    assert len(used) == done.plan.scores.nodes_used


def test_a_round_says_why_a_task_is_where_it_is(decisions):
    task = moved(decisions[0].round)[0]
    found = why(decisions[0], task)
    assert found["sentence"].startswith(f"{task} is on ")
    assert len(found["rows"]) + found["more"] == len(decisions[0].round.request.cluster.nodes)
    with pytest.raises(DocumentError, match="is not a task"):
        why(decisions[0], "nobody/nothing/0")


def test_the_report_is_one_file_that_runs_only_what_it_brings(decisions):
    text = report_page(decisions, "Rounds & more")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
    for name, kind in (("rounds.js", "script-src"), ("rounds.css", "style-src")):
        made = base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()
        assert f"{kind} 'sha256-{made}'" in policy
        assert asset(name) in text
    assert "default-src 'none'" in policy
    assert not re.search(r"(src|href)=", text.replace(asset("rounds.js"), ""))
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [each["record"] for each in data["rounds"]] == [1, 2, 3]
    assert set(data["why"]["1"]) == set(moved(decisions[0].round))


def test_no_name_ends_the_data_of_a_report(journal, tmp_path):
    hostile = "</script><script>alert(1)</script>"
    record = json.loads(journal.read_text().splitlines()[0])
    part = record["request"]["topologies"][0]["components"][0]["id"]
    (tmp_path / "odd.jsonl").write_text(json.dumps(renamed(record, part, "</script>")) + "\n")
    (only,) = read_decisions(read_journal(tmp_path / "odd.jsonl"))
    text = report_page([only], hostile)
    assert text.count("</script>") == 2  # of the data, and of the page's own script
    assert hostile not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert any("</script>" in each for each in data["scenes"][0]["components"])


def test_the_page_is_small():
    assert sum(len(asset(name)) for name in ("rounds.js", "rounds.css")) < 150_000


def test_the_command_writes_a_report(journal, tmp_path):
    done = called("report", journal, "-O", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, f"wrote {tmp_path / 'page.html'}: 3 rounds\n")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_journal_is_read_as_it_grows_and_where_it_goes_on(journal, tmp_path):
    records = list(read_journal(journal))
    path = tmp_path / "grows.jsonl"
    sink = FileJournal(path, largest=1)  # each record in a file of its own
    sink.append(records[0])
    tail = JournalTail(path)
    assert [each["record"] for each in tail.summaries] == [1]
    sink.append(records[1])
    sink.append(records[2])
    tail.refresh()
    assert [(each["record"], each["round"]) for each in tail.summaries] == [(1, 1), (2, 2), (3, 3)] or len(
        tail.summaries
    ) >= 2
    tail.close()
    again = JournalTail(path)
    assert [each["record"] for each in again.summaries] == [1, 2, 3]
    assert again.decision(2).round.number == 2
    again.close()


def test_half_a_line_is_read_when_it_is_whole(journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "half.jsonl"
    path.write_bytes(lines[0] + lines[1][:100])
    tail = JournalTail(path)
    assert len(tail.summaries) == 1
    with path.open("ab") as file:
        file.write(lines[1][100:])
    tail.refresh()
    assert [each["round"] for each in tail.summaries] == [1, 2]
    tail.close()


def test_records_beyond_what_is_kept_are_no_longer_shown(journal):
    tail = JournalTail(journal, kept=1)
    assert len(tail.summaries) == 3
    with pytest.raises(DocumentError, match="record 1 is not kept"):
        tail.decision(1)
    assert tail.decision(3).round.number == 3
    tail.close()


@pytest.fixture(scope="module")
def served(journal):
    tail = JournalTail(journal)
    with HttpServer(application(tail, TOKEN, ["127.0.0.1"]), ("127.0.0.1", 0)) as server:
        yield server.address
    tail.close()


def ask(address, path, **headers):
    connection = http.client.HTTPConnection(*address, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer, answer.read()


def known(address, path):
    return ask(address, path, Cookie=f"{cookie(TOKEN)}={TOKEN}")


def test_who_does_not_know_the_token_sees_nothing(served):
    for path in ("/", "/?token=wrong", "/rounds", "/rounds.js", "/scene/1", "/why/1?task=a"):
        answer, body = ask(served, path)
        assert answer.status == 401, path
        assert b"headworks watch" in body
    assert ask(served, "/", Cookie=f"{cookie(TOKEN)}=wrong")[0].status == 401


def test_the_token_becomes_a_cookie_and_leaves_the_address(served):
    answer, _ = ask(served, f"/?token={TOKEN}")
    assert (answer.status, answer.getheader("location")) == (303, "/")
    cookie = answer.getheader("set-cookie")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()


def test_another_name_for_this_machine_is_refused(served):
    answer, _ = ask(served, "/", Host="evil.example", Cookie=f"{cookie(TOKEN)}={TOKEN}")
    assert answer.status == 400


def test_the_page_trusts_nothing_but_itself(served):
    answer, body = known(served, "/")
    assert answer.status == 200
    assert "default-src 'none'" in answer.getheader("content-security-policy")
    assert (answer.getheader("x-content-type-options"), answer.getheader("cache-control")) == ("nosniff", "no-store")
    assert re.findall(rb'(?:src|href)="([^"]+)"', body) == [b"rounds.css", b"rounds.js"]


def test_scenes_and_reasons_are_answered_and_unknown_ones_are_404(served, decisions):
    assert json.loads(known(served, "/scene/1")[1]) == json.loads(json.dumps(scene(decisions[0])))
    task = moved(decisions[0].round)[0]
    assert json.loads(known(served, f"/why/1?task={task}")[1])["task"] == task
    assert known(served, "/scene/99")[0].status == 404
    assert known(served, "/why/1?task=nobody")[0].status == 404


def test_rounds_come_as_they_are_written(journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines[0])
    tail = JournalTail(path)
    with HttpServer(application(tail, TOKEN, ["127.0.0.1"]), ("127.0.0.1", 0)) as server:
        asked = urllib.request.Request(f"{server.url}/rounds", headers={"Cookie": f"{cookie(TOKEN)}={TOKEN}"})
        with urllib.request.urlopen(asked, timeout=30) as stream:
            assert [each["record"] for each in event(stream)] == [1]
            threading.Timer(0.1, lambda: path.write_bytes(b"".join(lines))).start()
            assert [each["record"] for each in event(stream)] == [2, 3]
        again = urllib.request.Request(asked.full_url, headers={**asked.headers, "Last-Event-ID": "2"})
        with urllib.request.urlopen(again, timeout=30) as stream:
            assert [each["record"] for each in event(stream)] == [3]
    tail.close()


def event(stream):
    """The data of the next event."""
    while True:
        line = stream.readline()
        if line.startswith(b"data: "):
            return json.loads(line[6:])
