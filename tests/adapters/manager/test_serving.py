"""`headworks manager serve` as programs and strangers see it: a process of its own, asked over sockets."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import jsonschema
import pytest

import headworks_schemas
from headworks_manager import listening
from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.opening import Stores
from headworks_manager.web import LARGEST_BODY, Routes, application
from manager_databases import check_consistent
from manager_served import Served, serving
from patience import PATIENCE
from shell import gone, headworks, running

PAGE = (Path(__file__).parents[3] / "docs" / "manager.md").read_text()
TRIGGER = {"topology": "t", "on": True, "source": "detect-3", "sequence": 7}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as made:
        assert made.ask("PATCH", "/topologies/t", {"priority": 5, "hold": 0, "why": "use case 1"})[0] == 200
        made.folder = Path(tmp_path_factory.getbasetemp()) / "served0"
        yield made


def test_triggers_and_priorities_arrive_and_are_told(served):
    assert (
        served.ask("PATCH", "/topologies/u", {"priority": 3, "desired_nodes": 8, "aging": 1.5})[1]["verdict"] == "new"
    )
    assert json.loads(served.process.stdout.readline())["topology"] == "t"
    assert json.loads(served.process.stdout.readline())["topology"] == "u"
    sent = {"topology": "u", "on": True, "source": "bolt", "why": "80 % of CPU"}
    status, done = served.ask("POST", "/triggers", sent)
    assert (status, done["verdict"], done["topology"]["level"]) == (200, "on", 0)
    assert json.loads(served.process.stdout.readline()) == done
    status, done = served.ask("POST", "/triggers", {**sent, "on": False})
    assert (done["verdict"], done["message"].rpartition(" in ")[0]) == ("pending", "u changed less than 30 s ago: off")
    assert served.ask("POST", "/triggers?now=true", {**sent, "on": False})[1]["verdict"] == "off"
    served.process.stdout.readline(), served.process.stdout.readline()
    _, changes = served.ask("GET", "/history?topology=u&last=3")
    assert [each["verdict"] for each in changes] == ["off", "pending", "on"]
    assert (changes[2]["who"], changes[2]["why"]) == ("bolt by http from 127.0.0.1", "80 % of CPU")
    assert served.ask("PATCH", "/topologies/u", {"desired_nodes": None})[1]["after"]["desired_nodes"] is None
    served.process.stdout.readline()
    entry = served.ask("GET", "/topologies")[1][1]
    assert (entry["name"], entry["priority"], entry["aging"], entry["hold"]) == ("u", 3, 1.5, 30)
    asked = headworks("priority", "list", "--json", "--database", served.folder / "p.sqlite")
    assert json.loads(asked.stdout)[1] == entry


def test_repeated_late_and_forged_triggers_change_nothing(served):
    served.ask("PATCH", "/topologies/r", {"hold": 0})
    sent = {**TRIGGER, "topology": "r"}

    def verdict(**more):
        status, done = served.ask("POST", "/triggers", {**sent, **more})
        assert status == 200, done
        return done["verdict"]

    assert [verdict(), verdict(), verdict(sequence=6, on=False), verdict(sent=4 * 10**12, sequence=8)] == [
        "on",
        "repeated",
        "late",
        "ahead",
    ]
    before = served.ask("GET", "/topologies")[1]
    for token in ("", "x", served.token[:-1], f"{served.token}0", served.token.upper(), "ä" * 64):
        forged = {**sent, "sequence": 9, "on": False}
        assert served.ask("POST", "/triggers", forged, token=token) == (401, {"error": UNKNOWN, "pointer": ""})
        assert served.ask("GET", "/topologies", token=token)[0] == 401
        assert served.ask("PATCH", "/topologies/r", {"priority": 0}, token=token)[0] == 401
    assert served.ask("GET", "/topologies")[1] == before


TOKEN = "~/.local/state/headworks/manager.token"
UNKNOWN = "send `Authorization: Bearer TOKEN`"
WRONG = [
    ("POST", "/triggers", "[", 400, "", "this is no JSON"),
    ("POST", "/triggers", "", 400, "", "this is no JSON"),
    ("POST", "/triggers", "[]", 400, "", "this is no trigger"),
    ("POST", "/triggers", '{"topology": "t", "on": true, "on": false, "source": "a"}', 400, "/on", ""),
    ("POST", "/triggers", '{"topology": "t", "on": 1, "source": "a"}', 400, "/on", "1 is not"),
    ("POST", "/triggers", '{"topology": "t", "on": true}', 400, "", "source"),
    ("POST", "/triggers", '{"topology": "t", "on": true, "source": "a", "now": true}', 400, "/now", ""),
    ("POST", "/triggers", '{"topology": "x", "on": true, "source": "a"}', 400, "/topology", "no topology x"),
    ("POST", "/triggers", '{"topology": "t", "on": true, "source": "a b"}', 400, "/source", "is no name"),
    ("POST", "/triggers", '{"topology": "t", "on": true, "source": "a", "sequence": -1}', 400, "/sequence", "-1"),
    ("POST", "/triggers?now=perhaps", json.dumps(TRIGGER), 400, "/now", "boolean"),
    ("POST", "/triggers", "[" * 60_000, 400, "", ""),
    ("POST", "/triggers", " " * (LARGEST_BODY + 1), 413, "", "more than 65536 bytes"),
    ("PATCH", "/topologies/t", '{"priority": -1}', 400, "/priority", "-1 does not fit"),
    ("PATCH", "/topologies/t", '{"minimum_nodes": 3, "desired_nodes": 2}', 400, "/minimum_nodes", "raise the desired"),
    ("PATCH", "/topologies/t", '{"hold": null}', 400, "/hold", ""),
    ("PATCH", "/topologies/a%20b", "{}", 400, "/name", "is no name"),
    ("GET", "/history?last=0", None, 400, "/last", "greater"),
    ("GET", "/history?topology=x", None, 400, "/topology", "no topology x"),
    ("GET", "/nowhere", None, 404, "", "Not Found"),
    ("DELETE", "/triggers", "", 405, "", "Method Not Allowed"),
]


@pytest.mark.parametrize(("method", "path", "text", "status", "pointer", "said"), WRONG)
def test_what_is_wrong_is_an_answer_that_names_the_part(served, method, path, text, status, pointer, said):
    found, answer = served.ask(method, path, raw=text)
    assert (found, answer["pointer"]) == (status, pointer)
    assert said in answer["error"]


def test_the_page_and_the_description_say_what_may_be_sent(served):
    found, description = served.ask("GET", "/openapi.json", token="")
    assert found == 200
    triggers = description["paths"]["/triggers"]["post"]
    schema = triggers["requestBody"]["content"]["application/json"]["schema"]
    whole = json.loads(headworks_schemas.read("trigger"))
    assert schema["properties"] == whole["properties"]
    assert triggers["security"] == [{"HTTPBearer": []}]
    jsonschema.validate(TRIGGER, whole)
    jsonschema.validate({"priority": None}, setting(description))
    with closing(http.client.HTTPConnection(*served.address, timeout=PATIENCE)) as connection:
        connection.request("GET", "/docs")
        assert b"/openapi.json" in connection.getresponse().read()


def setting(description):
    change = description["paths"]["/topologies/{name}"]["patch"]
    return change["requestBody"]["content"]["application/json"]["schema"]


def test_triggers_of_many_callers_at_once_are_all_recorded(served, tmp_path):
    served.ask("PATCH", "/topologies/m", {"hold": 0})

    def send(number):
        source, sequence = f"task-{number % 4}", 1 + number // 4
        sent = {"topology": "m", "on": number % 2 == 0, "source": source, "sequence": sequence}
        return served.ask("POST", "/triggers", sent)[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(80))) == [200] * 80
    with opened(str(served.folder / "p.sqlite")) as engine:
        changes = check_consistent(Store(engine), engine)
    assert sum(each.times for each in changes if each.topology == "m") == 81


@contextmanager
def nearby(folder, monkeypatch, **bounds):
    """A server of this process, with bounds that can be reached soon."""
    for name, value in bounds.items():
        monkeypatch.setattr(listening, name, value)
    stores = Stores()
    routes = Routes(lambda: stores.use(str(folder / "p.sqlite")), "secret", lambda done: None)
    with listening.HttpServer(application(routes), ("127.0.0.1", 0)) as server:
        yield Served(server.url, "secret")


HALF = b"POST /triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nContent-Length: 900\r\n\r\n{"


@pytest.mark.parametrize("sent", [b"", b"POST /tri", HALF])
def test_a_caller_that_does_not_finish_its_request_is_hung_up_on(tmp_path, monkeypatch, sent):
    with nearby(tmp_path, monkeypatch, REQUEST=0.3) as server, server.connect() as slow:
        slow.sendall(sent)
        with pytest.raises(ConnectionResetError):
            slow.recv(1) or ended()
        assert server.ask("GET", "/topologies") == (200, [])


def ended():
    raise ConnectionResetError


@pytest.mark.parametrize("sent", [b"", HALF])
def test_strangers_push_each_other_out_and_nobody_else(tmp_path, monkeypatch, sent):
    with nearby(tmp_path, monkeypatch, PLACES=3) as server:
        strangers = [server.connect() for _ in range(9)]
        for each in strangers:
            each.sendall(sent)
        assert server.ask("GET", "/topologies") == (200, [])
        for each in strangers[:6]:
            with pytest.raises(ConnectionResetError):
                each.recv(1) or ended()
        for each in strangers:
            each.close()


def test_a_request_that_is_whole_is_not_late_while_the_database_is_slow(tmp_path, monkeypatch):
    asked, go_on = threading.Event(), threading.Event()

    @contextmanager
    def slow(_address):
        asked.set()
        assert go_on.wait(PATIENCE)
        with opened(str(tmp_path / "p.sqlite")) as engine:
            yield Store(engine)

    monkeypatch.setattr(Stores, "use", lambda self, address: slow(address))
    with nearby(tmp_path, monkeypatch, REQUEST=0.1, PLACES=1) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.ask, "GET", "/topologies")
        assert asked.wait(PATIENCE)
        with server.connect() as first, server.connect():
            assert first.recv(1) == b"" or ended()
        go_on.set()
        assert answer.result() == (200, [])


def test_a_database_that_is_gone_is_said_and_comes_back(tmp_path):
    with serving(tmp_path) as served:
        served.ask("PATCH", "/topologies/t", {"hold": 0})
        (tmp_path / "p.sqlite").rename(tmp_path / "away")
        (tmp_path / "p.sqlite").mkdir()
        status, answer = served.ask("POST", "/triggers", TRIGGER)
        assert (status, "is it up" in answer["error"] or "cannot be written" in answer["error"]) == (503, True)
        (tmp_path / "p.sqlite").rmdir()
        (tmp_path / "away").rename(tmp_path / "p.sqlite")
        assert served.ask("POST", "/triggers", TRIGGER)[1]["verdict"] == "on"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_whoever_is_connected(tmp_path, number):
    with serving(tmp_path) as served, served.connect() as idle, served.connect() as half:
        half.sendall(HALF)
        served.ask("GET", "/topologies")
        served.process.send_signal(number)
        _, said = served.process.communicate(timeout=PATIENCE)
        assert served.process.returncode == 128 + number
        assert "Traceback" not in said
        assert said.splitlines()[-1] == "interrupted"
        assert len([line for line in said.splitlines() if line]) == 2
        assert gone(served.mark) == []
        idle.close()


def test_options_arrive_and_what_is_wrong_is_one_line(tmp_path):
    (tmp_path / "token").write_text("known\n")
    with serving(tmp_path) as served:
        assert served.token == "known"
        port = served.address[1]
        taken = headworks("manager", "serve", "--listen", f"127.0.0.1:{port}", HEADWORKS_DATABASE=str(tmp_path / "q"))
        assert taken.returncode == 4
        assert taken.stderr == f"headworks: 127.0.0.1:{port} cannot be listened on: Address already in use\n"
    assert headworks("manager", "serve", "--listen", "nowhere").returncode == 2
    assert headworks("manager", "serve", "--database", "postgresql://127.0.0.1:1/x").returncode == 4
    (tmp_path / "empty").touch()
    assert (
        "is empty" in headworks("manager", "serve", "--token", tmp_path / "empty", "--database", tmp_path / "q").stderr
    )


def test_the_history_is_kept_short(tmp_path):
    with opened(str(tmp_path / "p.sqlite")) as engine:
        store = Store(engine)
        for number in range(9):
            store.set("t", {"priority": number}, Author(who="ann"))
        with serving(tmp_path, "--keep-history", "2"):
            end = time.monotonic() + PATIENCE
            while len(store.history()) > 2:
                assert time.monotonic() < end
        assert [each.after["priority"] for each in store.history()] == [8, 7]


def test_a_token_that_is_made_is_the_owner_s_alone_and_a_person_reads_sentences(tmp_path):
    state = {"XDG_STATE_HOME": str(tmp_path)}
    with running("manager", "serve", "--listen", "127.0.0.1:0", folder=tmp_path, **state) as (process, _):
        first = process.stderr.readline()
        token = tmp_path / "headworks" / "manager.token"
        assert f"the token in {token}" in first
        assert token.stat().st_mode & 0o777 == 0o600
        served = Served(re.findall(r"http://[\d.]+:\d+", first)[0], token.read_text().strip())
        served.ask("PATCH", "/topologies/t", {"priority": 5})
        assert process.stderr.readline() == "t is registered by http from 127.0.0.1\n"
        served.ask("POST", "/triggers", TRIGGER)
        assert process.stderr.readline() == "on: t has priority 0 now\n"


def test_another_address_than_loopback_is_warned_of(tmp_path):
    with running(
        "manager", "serve", "--listen", "0.0.0.0:0", "--database", tmp_path / "p", "--token", tmp_path / "t", folder="/"
    ) as (process, _):
        process.stderr.readline()
        assert "no loopback address" in process.stderr.readline()


def test_the_page_s_calls_work(tmp_path):
    (lines,) = re.findall(r"<!-- http -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    with serving(tmp_path) as served:
        here = lines.replace("127.0.0.1:7780", f"127.0.0.1:{served.address[1]}").replace(TOKEN, str(tmp_path / "token"))
        done = subprocess.run(["bash", "-e", "-c", here], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        assert served.ask("GET", "/topologies")[1][0]["level"] == 0
        assert '"verdict":"on","message":"EventTP1 has priority 0 now"' in done.stdout
        assert [each["why"] for each in served.ask("GET", "/history")[1]] == ["80 % of CPU", "use case 1"]
