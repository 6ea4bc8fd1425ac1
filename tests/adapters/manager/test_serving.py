"""`headworks priority serve` as programs and strangers see it: a process of its own, asked over sockets."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest

import headworks_schemas
from headworks_local import http_server
from headworks_local.http_server import HttpServer
from headworks_local.private_files import SecretFile
from headworks_manager import web
from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.opening import Stores
from headworks_manager.operations import Setting
from headworks_manager.web import LARGEST_BODY, application
from manager_databases import check_consistent
from manager_served import Served, serving
from patience import PATIENCE
from shell import gone, headworks, running

PAGE = (Path(__file__).parents[3] / "docs" / "manager.md").read_text()
TRIGGER = {"topology": "t", "on": True, "source": "detect-3", "sequence": 7}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as made:
        assert made.ask("PUT", "/v1/topologies/t", {"priority": 5, "hold": 0, "why": "use case 1"})[0] == 201
        made.folder = Path(tmp_path_factory.getbasetemp()) / "served0"
        yield made


def test_triggers_and_priorities_arrive_and_are_told(served):
    setting = {"priority": 3, "desired_nodes": 8, "aging": 1.5}
    status, entry = served.ask("PUT", "/v1/topologies/u", setting)
    assert (status, entry["name"], entry["priority"], entry["aging"], entry["hold"]) == (201, "u", 3, 1.5, 30)
    assert json.loads(served.process.stdout.readline())["topology"] == "t"
    assert json.loads(served.process.stdout.readline())["verdict"] == "new"
    sent = {"topology": "u", "on": True, "source": "bolt", "why": "80 % of CPU"}
    status, done = served.ask("POST", "/v1/triggers", sent)
    assert (status, done["verdict"], done["topology"]["level"]) == (200, "on", 0)
    assert json.loads(served.process.stdout.readline()) == done
    status, done = served.ask("POST", "/v1/triggers", {**sent, "on": False})
    assert (done["verdict"], done["message"].rpartition(" in ")[0]) == ("pending", "u changed less than 30 s ago: off")
    assert served.ask("POST", "/v1/triggers?now=true", {**sent, "on": False})[1]["verdict"] == "off"
    served.process.stdout.readline(), served.process.stdout.readline()
    changes = served.items("/v1/history?topology=u")
    assert [each["verdict"] for each in changes] == ["off", "pending", "on", "new"]
    assert (changes[2]["who"], changes[2]["why"]) == ("bolt by http from 127.0.0.1", "80 % of CPU")
    (entry,) = (each for each in served.items("/v1/topologies") if each["name"] == "u")
    assert entry == served.ask("GET", "/v1/topologies/u")[1]
    listed = headworks("priority", "list", "--json", "--database", served.folder / "p.sqlite")
    assert entry in json.loads(listed.stdout)
    told = headworks("priority", "history", "u", "--json", "--database", served.folder / "p.sqlite")
    assert json.loads(told.stdout) == changes


def test_what_is_put_replaces_what_was_set_and_a_quantity_has_one_unit(served):
    served.ask("PUT", "/v1/topologies/p", {"priority": 3, "desired_nodes": 8, "hold": 0.5, "aging": 20})
    status, entry = served.ask("PUT", "/v1/topologies/p", {"priority": 4, "hold": 7.25})
    assert (status, entry["priority"], entry["desired_nodes"]) == (200, 4, None)
    assert (entry["hold"], entry["aging"]) == (7.25, None)
    changed, new = served.items("/v1/history?topology=p")
    assert (new["before"], new["after"]["hold"], new["after"]["aging"]) == (None, 0.5, 20)
    assert (changed["before"], changed["after"]["hold"]) == (new["after"], 7.25)
    done = served.ask("POST", "/v1/triggers", {"topology": "p", "on": True, "source": "s"})[1]["topology"]
    (trigger, *_) = served.items("/v1/history?topology=p")
    assert trigger["after"] == done == {key: served.ask("GET", "/v1/topologies/p")[1][key] for key in done}
    assert done["changed"].endswith("Z")


def test_a_topology_and_a_source_are_removed(served):
    assert served.ask("PUT", "/v1/topologies/d", {})[0] == 201
    served.ask("POST", "/v1/triggers", {"topology": "d", "on": True, "source": "s", "sequence": 9})
    assert served.ask("DELETE", "/v1/topologies/d/sources/s") == (204, None)
    assert served.ask("DELETE", "/v1/topologies/d/sources/s")[0] == 404
    assert served.ask("DELETE", "/v1/topologies/d") == (204, None)
    for method in ("GET", "DELETE"):
        status, problem = served.ask(method, "/v1/topologies/d")
        assert (status, problem["pointer"]) == (404, "/topology")
    removed, forgotten, *_ = served.items("/v1/history?topology=d")
    assert (removed["verdict"], removed["after"], forgotten["verdict"]) == ("removed", None, "forgotten")
    assert served.ask("PUT", "/v1/topologies/d", {})[0] == 201


def test_who_has_not_seen_the_last_change_overwrites_nothing(served):
    path = "/v1/topologies/e"
    status, head, _ = served.answer("PUT", path, {"priority": 1}, If_None_Match="*")
    assert status == 201
    first = head["ETag"]
    assert served.ask("PUT", path, {"priority": 2}, If_None_Match="*")[0] == 412
    status, head, _ = served.answer("PUT", path, {"priority": 2}, If_Match=first)
    assert (status, head["ETag"] != first) == (200, True)
    status, problem = served.ask("PUT", path, {"priority": 3}, If_Match=first)
    assert (status, problem["title"]) == (412, "Precondition Failed")
    assert served.ask("DELETE", path, If_Match=first)[0] == 412
    served.ask("POST", "/v1/triggers", {"topology": "e", "on": True, "source": "s"})
    status, again, entry = served.answer("GET", path)
    assert (again["ETag"], entry["priority"]) == (head["ETag"], 2)  # a trigger is no change of what was set
    assert served.ask("DELETE", path, If_Match=head["ETag"])[0] == 204
    assert served.ask("PUT", path, {}, If_Match="*")[0] == 412
    assert served.ask("GET", path)[0] == 404


def test_lists_come_page_by_page(served):
    names = [f"page-{number:02}" for number in range(7)]
    for name in names:
        served.ask("PUT", f"/v1/topologies/{name}", {})
    whole = [each["name"] for each in served.ask("GET", "/v1/topologies")[1]["items"]]
    assert [each["name"] for each in served.items("/v1/topologies?limit=3")] == whole == sorted(whole)
    history = served.items("/v1/history?limit=2")
    assert history == served.ask("GET", "/v1/history?limit=1000")[1]["items"]
    page = served.ask("GET", "/v1/history?topology=page-00&limit=1")[1]
    assert (len(page["items"]), page["next"]) == (1, None)


def test_what_the_cluster_does_not_allow_is_a_conflict(served):
    with opened(str(served.folder / "p.sqlite")) as engine:
        Store(engine).look([], {}, 4)
    status, problem = served.ask("PUT", "/v1/topologies/c", {"minimum_nodes": 5})
    assert (status, problem["pointer"]) == (409, "/minimum_nodes")
    assert served.ask("PUT", "/v1/topologies/c", {"minimum_nodes": 4})[0] == 201


def test_repeated_late_and_forged_triggers_change_nothing(served):
    served.ask("PUT", "/v1/topologies/r", {"hold": 0})
    sent = {**TRIGGER, "topology": "r"}

    def verdict(**more):
        status, done = served.ask("POST", "/v1/triggers", {**sent, **more})
        assert status == 200, done
        return done["verdict"]

    assert [verdict(), verdict(), verdict(sequence=6, on=False), verdict(sent="2096-10-02T07:06:40Z", sequence=8)] == [
        "on",
        "repeated",
        "late",
        "ahead",
    ]
    before = served.items("/v1/topologies")
    for token in ("", "x", served.token[:-1], f"{served.token}0", served.token.upper(), "ä" * 64):
        forged = {**sent, "sequence": 9, "on": False}
        status, head, problem = served.answer("POST", "/v1/triggers", forged, token=token)
        assert (status, head["WWW-Authenticate"], problem["detail"]) == (401, "Bearer", UNKNOWN)
        assert served.ask("GET", "/v1/topologies", token=token)[0] == 401
        assert served.ask("PUT", "/v1/topologies/r", {"priority": 0}, token=token)[0] == 401
        assert served.ask("DELETE", "/v1/topologies/r", token=token)[0] == 401
    assert served.items("/v1/topologies") == before


TOKEN = "~/.local/state/headworks/manager.token"
UNKNOWN = "send `Authorization: Bearer TOKEN`"
SEND = "/v1/triggers"
WRONG = [
    ("POST", SEND, "[", 400, "", "this is not JSON"),
    ("POST", SEND, "", 400, "", "this is not JSON"),
    ("POST", SEND, "[]", 400, "", "this is not a trigger"),
    ("POST", SEND, '{"topology": "t", "on": true, "on": false, "source": "a"}', 400, "/on", ""),
    ("POST", SEND, '{"topology": "t", "on": 1, "source": "a"}', 400, "/on", "1 is not"),
    ("POST", SEND, '{"topology": "t", "on": true}', 400, "", "source"),
    ("POST", SEND, '{"topology": "t", "on": true, "source": "a", "now": true}', 400, "/now", ""),
    ("POST", SEND, '{"topology": "x", "on": true, "source": "a"}', 404, "/topology", "no topology x"),
    ("POST", SEND, '{"topology": "t", "on": true, "source": "a b"}', 400, "/source", "is not a name"),
    ("POST", SEND, '{"topology": "t", "on": true, "source": "a", "sequence": -1}', 400, "/sequence", "-1"),
    ("POST", f"{SEND}?now=perhaps", json.dumps(TRIGGER), 400, "/now", "neither true nor false"),
    ("POST", f"{SEND}?nwo=true", json.dumps(TRIGGER), 400, "/nwo", "did you mean now?"),
    ("POST", SEND, "[" * 60_000, 400, "", ""),
    ("POST", SEND, " " * (LARGEST_BODY + 1), 413, "", "more than 65536 bytes"),
    ("PUT", "/v1/topologies/t", '{"priority": -1}', 400, "/priority", "-1 does not fit"),
    ("PUT", "/v1/topologies/t", '{"minimum_nodes": 3, "desired_nodes": 2}', 400, "/minimum_nodes", "raise the desired"),
    ("PUT", "/v1/topologies/t", '{"hold": null}', 400, "/hold", ""),
    ("PUT", "/v1/topologies/t", '{"name": "t"}', 400, "/name", "unknown key"),
    ("PUT", "/v1/topologies/a%20b", "{}", 400, "/name", "is not a name"),
    ("DELETE", "/v1/topologies/a%20b", "", 400, "/name", "is not a name"),
    ("GET", "/v1/topologies/a%20b", None, 400, "/name", "is not a name"),
    ("GET", "/v1/topologies?limit=1001", None, 400, "/limit", "from 1 to 1000"),
    ("GET", "/v1/history?limit=0", None, 400, "/limit", "from 1 to 1000"),
    ("GET", "/v1/history?before=x", None, 400, "/before", "not a whole number"),
    ("GET", "/v1/history?before=" + "9" * 5000, None, 400, "/before", "not a whole number"),
    ("GET", "/v1/history?topology=x", None, 404, "/topology", "no topology x"),
    ("GET", "/nowhere", None, 404, "", "Not Found"),
    ("GET", "/topologies", None, 404, "", "Not Found"),
    ("GET", "/docs", None, 404, "", "Not Found"),
    ("DELETE", SEND, "", 405, "", "Method Not Allowed"),
    ("PATCH", "/v1/topologies/t", "{}", 405, "", "Method Not Allowed"),
]


@pytest.mark.parametrize(("method", "path", "text", "status", "pointer", "said"), WRONG)
def test_what_is_wrong_is_a_problem_that_names_the_part(served, method, path, text, status, pointer, said):
    found, head, answer = served.answer(method, path, raw=text)
    assert (found, answer["status"], answer["pointer"]) == (status, status, pointer)
    assert said in answer["detail"]
    assert head["Content-Type"] == "application/problem+json"


def test_the_description_says_what_may_be_sent(served):
    found, description = served.ask("GET", "/openapi.json", token="")
    assert found == 200
    triggers = description["paths"]["/v1/triggers"]["post"]
    content = triggers["requestBody"]["content"]["application/json"]
    assert content == {"schema": {"$ref": "#/components/schemas/Trigger"}}
    whole = json.loads(headworks_schemas.read("trigger"))
    assert description["components"]["schemas"]["Trigger"]["properties"] == whole["properties"]
    setting = description["components"]["schemas"]["Setting"]["properties"]
    assert set(setting) == {*(field.name for field in attrs.fields(Setting)), "$schema"}


def test_it_says_whether_it_works_to_anybody(tmp_path):
    with serving(tmp_path) as served:
        assert served.ask("GET", "/healthz", token="") == (200, {"status": "ok"})
        (tmp_path / "p.sqlite").rename(tmp_path / "away")
        (tmp_path / "p.sqlite").mkdir()
        status, problem = served.ask("GET", "/healthz", token="")
        assert status == 503
        assert str(tmp_path) not in json.dumps(problem)


def test_behind_a_proxy_of_this_machine_the_caller_is_whom_the_proxy_names(served):
    served.ask("PUT", "/v1/topologies/x", {}, X_Forwarded_For="10.1.2.3")
    assert served.items("/v1/history?topology=x")[0]["who"] == "http from 10.1.2.3"


def test_triggers_of_many_callers_at_once_are_all_recorded(served, tmp_path):
    served.ask("PUT", "/v1/topologies/m", {"hold": 0})

    def send(number):
        source, sequence = f"task-{number % 4}", 1 + number // 4
        sent = {"topology": "m", "on": number % 2 == 0, "source": source, "sequence": sequence}
        return served.ask("POST", "/v1/triggers", sent)[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(80))) == [200] * 80
    with opened(str(served.folder / "p.sqlite")) as engine:
        changes = check_consistent(Store(engine), engine)
    assert sum(each.times for each in changes if each.topology == "m") == 81


HALF = b"POST /v1/triggers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 900\r\n\r\n{"


@contextmanager
def nearby(folder):
    """A manager in this process, whose bounds may be changed."""
    (folder / "token").write_text("a secret of sixteen\n")
    (folder / "token").chmod(0o600)
    stores, token = Stores(), SecretFile(folder / "token")
    app = application(lambda: stores.use(str(folder / "p.sqlite")), token, lambda done: None)
    with HttpServer(app, ("127.0.0.1", 0)) as server:
        yield Served(server.url, token.read())
    stores.close()


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 0.2)
    with nearby(tmp_path) as near:
        with near.connect() as slow:
            slow.sendall(HALF % near.token.encode())
            assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        assert near.items("/v1/topologies") == []


def test_more_connections_than_there_are_places_are_told_to_come_again(tmp_path, monkeypatch):
    monkeypatch.setattr(http_server, "PLACES", 3)
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with nearby(tmp_path) as near, ExitStack() as stack:
        for status in (200, 200, 200, 503):
            caller = stack.enter_context(near.connect())
            caller.sendall(whole)
            assert caller.recv(100).startswith(b"HTTP/1.1 %d " % status)


def test_a_database_that_is_gone_is_said_and_comes_back(tmp_path):
    with serving(tmp_path) as served:
        served.ask("PUT", "/v1/topologies/t", {"hold": 0})
        (tmp_path / "p.sqlite").rename(tmp_path / "away")
        (tmp_path / "p.sqlite").mkdir()
        status, head, problem = served.answer("POST", "/v1/triggers", TRIGGER)
        assert (status, head["Retry-After"], "try again" in problem["detail"]) == (503, "2", True)
        assert str(tmp_path) not in json.dumps(problem)
        (tmp_path / "p.sqlite").rmdir()
        (tmp_path / "away").rename(tmp_path / "p.sqlite")
        assert served.ask("POST", "/v1/triggers", TRIGGER)[1]["verdict"] == "on"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_whoever_is_connected(tmp_path, number):
    with serving(tmp_path) as served, served.connect() as idle, served.connect() as half:
        half.sendall(HALF % served.token.encode())
        served.ask("GET", "/v1/topologies")
        served.process.send_signal(number)
        _, said = served.process.communicate(timeout=PATIENCE)
        assert served.process.returncode == 128 + number
        assert "Traceback" not in said
        assert said.splitlines()[-1] == "interrupted"
        assert len([line for line in said.splitlines() if line]) == 2
        assert gone(served.mark) == []
        idle.close()


def test_options_arrive_and_what_is_wrong_is_one_line(tmp_path):
    (tmp_path / "token").write_text("known to sixteen\n")
    (tmp_path / "token").chmod(0o600)
    with serving(tmp_path) as served:
        assert served.token == "known to sixteen"
        port = served.address[1]
        taken = headworks("priority", "serve", "--listen", f"127.0.0.1:{port}", HEADWORKS_DATABASE=str(tmp_path / "q"))
        assert taken.returncode == 4
        assert taken.stderr == f"headworks: 127.0.0.1:{port} cannot be listened on: Address already in use\n"
    assert headworks("priority", "serve", "--listen", "nowhere").returncode == 2
    assert headworks("priority", "serve", "--database", "postgresql://127.0.0.1:1/x").returncode == 4


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("", 0o600, "holds 0 characters"),
        ("x", 0o600, "holds 1 characters, fewer than 16"),
        ("a secret of sixteen", 0o666, "others may write"),
        ("a secret of sixteen", 0o620, "others may write"),
    ],
)
def test_a_token_that_others_may_write_or_guess_is_refused(tmp_path, text, mode, said):
    token = tmp_path / "token"
    token.write_text(text)
    token.chmod(mode)
    done = headworks("priority", "serve", "--listen", "127.0.0.1:0", "--token", token, "--database", tmp_path / "q")
    assert (done.returncode, said in done.stderr) == (4, True)


def test_a_new_token_needs_no_restart(tmp_path):
    with serving(tmp_path) as served:
        old, new = served.token, "a new secret of somebody"
        (tmp_path / "new").write_text(f"{new}\n")
        (tmp_path / "new").chmod(0o600)
        (tmp_path / "new").replace(tmp_path / "token")
        assert [served.ask("GET", "/v1/topologies", token=each)[0] for each in (old, new)] == [401, 200]
        (tmp_path / "token").chmod(0o666)
        assert [served.ask("GET", "/v1/topologies", token=each)[0] for each in (old, new)] == [503, 503]
        (tmp_path / "token").chmod(0o600)
        assert served.ask("GET", "/v1/topologies", token=new)[0] == 200


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
    with running("priority", "serve", "--listen", "127.0.0.1:0", folder=tmp_path, **state) as (process, _):
        first = process.stderr.readline()
        token = tmp_path / "headworks" / "manager.token"
        assert f"the token in {token}" in first
        assert token.stat().st_mode & 0o777 == 0o600
        served = Served(re.findall(r"http://[\d.]+:\d+", first)[0], token.read_text().strip())
        served.ask("PUT", "/v1/topologies/t", {"priority": 5})
        assert process.stderr.readline() == "t is registered by http from 127.0.0.1\n"
        served.ask("POST", "/v1/triggers", TRIGGER)
        assert process.stderr.readline() == "on: t has priority 0 now\n"


def test_another_address_than_loopback_is_warned_of(tmp_path):
    with running(
        "priority",
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--database",
        tmp_path / "p",
        "--token",
        tmp_path / "t",
        folder="/",
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
        assert served.items("/v1/topologies")[0]["level"] == 0
        assert '"verdict":"on","message":"EventTP1 has priority 0 now"' in done.stdout
        assert [each["why"] for each in served.items("/v1/history")] == ["80 % of CPU", "use case 1"]
