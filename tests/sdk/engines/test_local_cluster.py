"""The cluster that commands leave running: one of them at a time, and only what this version wrote down."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from headworks.errors import EngineError
from moments import SECONDS
from patience import PATIENCE
from sdk.engines.stand_in import DAEMONS, State
from shell import gone, marked, running, told

STAND_IN = (sys.executable, Path(__file__).with_name("start_stand_in.py"))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return State.folder()


def test_of_commands_that_start_at_once_one_does(tmp_path):
    here = {"folder": tmp_path, "program": STAND_IN, "XDG_CACHE_HOME": str(tmp_path)}
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(running("up", **here)) for _ in range(4)]
        codes = [process.wait(PATIENCE) for process, _ in started]
        assert sorted(codes) == [0, 4, 4, 4]
        said = [process.stderr.read() for (process, _), code in zip(started, codes, strict=True) if code]
        refusals = ("another command starts, changes or ends the local stand-in", "a local stand-in runs at here")
        assert all(any(refusal in each for refusal in refusals) and "Traceback" not in each for each in said)
        stand = [len([each for each in marked(mark) if " -S -c " in told(each)]) for _, mark in started]
        assert stand == [0 if code else 2 * DAEMONS for code in codes]
        with running("down", **here) as (down, _):
            assert down.wait(PATIENCE) == 0
        assert [gone(mark, SECONDS) for _, mark in started] == [[]] * 4


def test_while_one_command_changes_it_no_other_does(folder):
    message = "another command starts, changes or ends the local stand-in: wait until it has ended"
    with State.alone():
        with pytest.raises(EngineError, match=message), State.leave(lambda _: None, lambda _: None):
            pass
        with pytest.raises(EngineError, match=message):
            State.end()
    assert State.end() is None


def test_a_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    taken = tmp_path / "taken"
    taken.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(taken))
    with pytest.raises(EngineError, match=f"{State.folder().parent} cannot be written .*: set XDG_CACHE_HOME"):
        State.end()


OTHERS = ("", "[]", "{}", '{"daemons": 1}', '{"daemons": [], "colour": 1}', '{"daemons": [{}]}')


@pytest.mark.parametrize("text", OTHERS)
def test_what_another_version_wrote_is_named_and_stays(folder, text):
    folder.mkdir(parents=True)
    file = folder / "cluster.json"
    file.write_text(text)
    for command in (State.read, State.end):
        with pytest.raises(EngineError, match=f"{file} is of another version of Headworks .*: end the cluster with"):
            command()
    assert file.read_text() == text
