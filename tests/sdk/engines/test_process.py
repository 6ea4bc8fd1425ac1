"""What a daemon's log tells of its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks_local.process import Daemon

if TYPE_CHECKING:
    from pathlib import Path


def tail(folder: Path, text: str) -> list[str]:
    log = folder / "daemon.log"
    log.write_text(text)
    return Daemon(name="nimbus", pid=1, born=1, log=log).tail().splitlines()


def test_errors_are_told_with_their_exceptions_and_without_what_follows(tmp_path: Path) -> None:
    frames = "\tat some.Class.method(Class.java:1)\n" * 40
    text = (
        "10:00:00 main [INFO] Starting\n"
        f"10:00:01 main [ERROR] It ends\njava.lang.RuntimeException: no such class\n{frames}"
        f"Caused by: java.lang.ClassNotFoundException: no.such.Scheduler\n{frames}"
    )
    assert tail(tmp_path, text + "10:00:02 main [INFO] Shutting down\n" * 100) == [
        "10:00:01 main [ERROR] It ends",
        "java.lang.RuntimeException: no such class",
        "Caused by: java.lang.ClassNotFoundException: no.such.Scheduler",
    ]


def test_without_errors_the_end_is_told(tmp_path: Path) -> None:
    assert tail(tmp_path, "\n".join(map(str, range(100)))) == [str(each) for each in range(85, 100)]
    assert Daemon(name="nimbus", pid=1, born=1, log=tmp_path / "absent").tail() == ""
