"""A Python file as the main module of this process ends, prints and waits as under `python FILE`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headworks_spark.applications.script import run_script
from patience import PATIENCE

CASES = {
    "its end": "print('done')",
    "no code": "import sys; sys.exit()",
    "a code": "import sys; sys.exit(3)",
    "a sentence": "import sys; sys.exit('no such table')",
    "an error": "def f():\n    raise ValueError(1)\nf()",
    "a chain": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError(2) from error",
    "no Python": "def f(:",
    "arguments": "import sys; print(sys.argv[1:], __name__, __file__)",
    "its neighbour": "import neighbour; print(neighbour.WORD)",
    "a thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.5), print('late'))).start()",
    "an idle pool": "import concurrent.futures as f\nprint(f.ThreadPoolExecutor(1).submit(len, 'ab').result())",
    "its own functions": "import pickle\ndef f(): pass\nprint(pickle.loads(pickle.dumps(f)) is f)",
    "main thread": "import signal as s; s.signal(s.SIGUSR1, lambda *_: print('heard')); s.raise_signal(s.SIGUSR1)",
    "hook": "import sys\nsys.excepthook = lambda kind, *rest: print('told', kind.__name__)\n1 / 0",
}


@pytest.mark.parametrize("name", CASES)
def test_it_ends_and_prints_as_under_python(tmp_path, capfd, monkeypatch, name):
    (tmp_path / "neighbour.py").write_text("WORD = 'beside'")
    file = tmp_path / "application.py"
    file.write_text(CASES[name])
    words = [str(file), "--rows", "7"]
    python = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    before = sys.argv, sys.path, sys.modules["__main__"]
    code = run_script(words)
    sys.modules.pop("neighbour", None)
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before
    told = capfd.readouterr()
    assert (code, told.out, told.err) == (python.returncode, python.stdout, python.stderr)
