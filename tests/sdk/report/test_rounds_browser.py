"""The page of a journal's rounds in a real browser: it draws, answers clicks and keys, and follows."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile

import pytest

from browser import browser
from headworks.control.journal import read_journal
from headworks.report.decisions import read_decisions
from headworks.report.rounds.live import application
from headworks.report.rounds.page import report_page
from headworks.report.rounds.tail import JournalTail
from headworks_local.http_server import HttpServer
from rounds_journal import recorded, renamed

AXE = "axe-core@4.14.1"
FOUND = "return axe.run().then((found) => found.violations.map((each) => [each.id, each.nodes.map((one) => one.html)]))"
TOKEN = "a-secret-that-is-long-enough"
HOSTILE = '<img src=x onerror="document.title=1">'
SHOWN = "return document.querySelector('#outcome').textContent"
LEFT = "\ue012"


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("rounds"))


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("browser")) as made:
        made.size(1400)
        yield made


@pytest.fixture(scope="module")
def page(journal, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(list(read_decisions(read_journal(journal))), "Rounds"))
    return path.as_uri()


pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe, which looks at a page for what keeps people from reading it."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm, which fetches axe")
    folder = tmp_path_factory.mktemp("axe")
    subprocess.run(["npm", "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True, text=True)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as files:
        return files.extractfile("package/axe.min.js").read().decode()


def painted(window):
    """Whether the picture has pixels that are not of one colour."""
    return window.run(
        "const c = document.querySelector('#canvas');"
        "const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const seen = new Set(); for (let i = 0; i < data.length; i += 4)"
        " seen.add(data[i] + ',' + data[i + 1] + ',' + data[i + 2]); return seen.size"
    )


def test_a_report_draws_its_newest_round_and_walks_by_keys(window, page):
    window.open(page)
    window.until("return document.querySelectorAll('#timeline li').length === 3")
    assert window.text("#outcome").startswith("Round 3,")
    assert painted(window) > 5
    window.run("document.querySelector('#timeline [aria-current]').focus()")
    window.keys(LEFT)
    window.until(f"{SHOWN}.startsWith('Round 2,')")
    window.keys(LEFT)
    window.until(f"{SHOWN}.startsWith('Round 1,')")
    assert "executed" in window.text("#outcome")
    assert "16 / 16" in window.text("#figures")
    assert window.log() == []


def test_a_click_on_a_task_says_why_it_is_there(window, page):
    window.open(page)
    window.until("return document.querySelectorAll('#timeline li').length === 3")
    window.click("#timeline li:first-child button")
    window.until(f"{SHOWN}.startsWith('Round 1,')")
    window.until("return document.querySelectorAll('#nodes td button').length > 0")
    window.click("#nodes td button")
    window.click("#tasks button")
    window.until("return document.querySelector('#why table') !== null")
    assert " is on " in window.text("#why p")
    box = window.run("return state.boxes.find((each) => each.cells.length).cells[0]")
    where = window.run("const r = document.querySelector('#canvas').getBoundingClientRect(); return [r.x, r.y]")
    window.run(
        "document.querySelector('#canvas').dispatchEvent(new MouseEvent('click', {bubbles: true,"
        " clientX: arguments[0], clientY: arguments[1]}))",
        where[0] + box["x"] + 5,
        where[1] + box["y"] + 5,
    )
    assert window.log() == []


@pytest.mark.network
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_axe_finds_nothing(window, page, axe, scheme, width):
    window.size(width)
    window.prefer(scheme)
    window.open(page)
    window.until("return document.querySelectorAll('#timeline li').length === 3")
    window.run(axe)
    assert window.run(FOUND) == []
    window.click("#timeline li:first-child button")
    window.until(f"{SHOWN}.startsWith('Round 1,')")
    window.until("return document.querySelectorAll('#nodes td button').length > 0")
    window.click("#nodes td button")
    window.click("#tasks button")
    window.until("return document.querySelector('#why table') !== null")
    assert window.run(FOUND) == []
    window.size(1400)


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_wider_than_the_window(window, page, width):
    window.size(width)
    window.open(page)
    window.until("return document.querySelectorAll('#timeline li').length === 3")
    assert window.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    window.size(1400)


def test_hostile_names_are_text(window, journal, tmp_path):
    record = json.loads(journal.read_text().splitlines()[0])
    part = record["request"]["topologies"][0]["components"][0]["id"]
    (tmp_path / "odd.jsonl").write_text(json.dumps(renamed(record, part, HOSTILE.replace("/", ""))) + "\n")
    (tmp_path / "odd.html").write_text(report_page(list(read_decisions(read_journal(tmp_path / "odd.jsonl"))), "odd"))
    window.open((tmp_path / "odd.html").as_uri())
    window.until("return document.querySelectorAll('#timeline li').length === 1")
    window.until("return document.querySelector('#keys').textContent.includes('onerror')")
    assert window.run("return document.querySelectorAll('img').length") == 0
    assert window.run("return document.title") == "odd"


def test_two_hundred_rounds_are_followed_as_they_are_written(window, journal, tmp_path):
    lines = journal.read_bytes().splitlines(keepends=True)
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines[0])
    tail = JournalTail(path)
    with HttpServer(application(tail, TOKEN, ["127.0.0.1"]), ("127.0.0.1", 0)) as server:
        window.open(f"{server.url}/?token={TOKEN}")
        assert "token" not in window.run("return location.href")
        window.until("return document.querySelectorAll('#timeline li').length === 1")
        with path.open("ab") as file:
            for each in range(199):
                file.write(lines[1 + each % 2])
                file.flush()
        window.until("return document.querySelectorAll('#timeline li').length === 200")
        window.until("return document.querySelector('#timeline li:last-child [aria-current]') !== null")
        window.until("return document.querySelectorAll('#nodes td button').length > 0")
        window.click("#nodes td button")
        window.click("#tasks button")
        window.until("return document.querySelector('#why table') !== null")
        assert window.log() == []
        window.open("about:blank")
    tail.close()
