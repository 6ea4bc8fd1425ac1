"""A real browser: Chromium, told what to do through its driver (W3C WebDriver)."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


class Browser:
    """A window of a browser."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        flags = [*FLAGS, f"--user-data-dir={folder}"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._url = f"{url}/session/{answer['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self._url + path, data=data, method=method)
        asked.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def open(self, url: str) -> None:
        """Load a page."""
        self._ask("POST", "/url", {"url": url})

    def size(self, width: int, height: int = 1000) -> None:
        """Make the window so large, in pixels."""
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of the body of a function, or of the promise that it returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def prefer(self, scheme: str) -> None:
        """Have pages seen in a `light` or a `dark` scheme."""
        wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": wanted})

    def text(self, selector: str) -> str:
        """Text of the first element of a selector."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def click(self, selector: str) -> None:
        """Click on the first element of a selector, as a person does."""
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"/element/{found[ELEMENT]}/click", {})

    def keys(self, text: str) -> None:
        """Press keys where the focus is."""
        found = self._ask("GET", "/element/active")
        self._ask("POST", f"/element/{found[ELEMENT]}/value", {"text": text})

    def log(self) -> list[str]:
        """Errors and messages of its console since the last look."""
        return [each["message"] for each in self._ask("POST", "/se/log", {"type": "browser"})]

    def picture(self, path: Path) -> None:
        """Write what it shows as PNG."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until the value of a script is true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < end, script
            time.sleep(0.1)
        return found

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError):
            self._ask("DELETE", "")


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser, or a skip where none is installed and this is not a machine for continuous integration."""
    driver = shutil.which("chromedriver")
    if driver is None and not os.environ.get("CI"):
        pytest.skip("there is no chromedriver; Debian has it in chromium-driver")
    assert driver, "chromedriver is not installed"
    process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        line = next(each for each in process.stdout if "successfully" in each)
        port = line.rstrip(".\n ").rpartition(" ")[2]
        made = Browser(f"http://127.0.0.1:{port}", folder)
        try:
            yield made
        finally:
            made.close()
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
