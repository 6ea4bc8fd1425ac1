"""The pytest plugin: fixtures for authors of plugins, and nothing that others would notice."""

from __future__ import annotations

import shutil
import subprocess
import sys

import zoo
from headworks.testing import RULES

PROJECT = """
import pytest
from hypothesis import Phase, settings

settings.register_profile("brief", max_examples=10, phases=[Phase.generate])
settings.load_profile("brief")

from headworks.plugins.host import PluginHost
from headworks.testing import FirstFit, SchedulerContract


class TestFirstFit(SchedulerContract):
    @pytest.fixture
    def scheduler_name(self):
        return "ff"

    @pytest.fixture
    def host(self):
        return PluginHost().with_plugin("ff", FirstFit())


def test_fixtures(headworks_host, headworks_cases):
    assert headworks_host.plugins is not None
    assert headworks_cases.small
"""


def run_pytest(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_loading_it_imports_nothing_heavy():
    code = (
        "import sys; import headworks.testing.pytest_plugin;"
        "print([name for name in ('numpy', 'cattrs', 'hypothesis', 'jsonschema') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_project_that_does_not_use_it_sees_only_its_fixtures(tmp_path):
    (tmp_path / "test_other.py").write_text("import sys\ndef test_it():\n    assert 'numpy' not in sys.modules\n")
    run = run_pytest(tmp_path)
    assert run.returncode == 0, run.stdout


def test_a_contract_class_runs_every_rule(tmp_path):
    (tmp_path / "test_ff.py").write_text(PROJECT)
    listed = run_pytest(tmp_path, "--collect-only").stdout
    assert all(f"test_rule[{rule.id}]" in listed for rule in RULES)
    assert all(f"test_search[{rule.id}]" in listed for rule in RULES if rule.judge and rule.about is None)
    run = run_pytest(tmp_path, "-k", "describes or fixed or total or processes or test_fixtures")
    assert run.returncode == 0, run.stdout
    assert "does not declare 'total'" in run.stdout
    assert "no other process can load it" in run.stdout
    assert "4 passed, 3 skipped" in run.stdout


def test_a_contract_class_fails_on_a_scheduler_that_breaks_a_rule(tmp_path):
    shutil.copy(zoo.__file__, tmp_path)
    broken = PROJECT.replace("from headworks.testing import FirstFit,", "import zoo\nfrom headworks.testing import")
    broken = broken.replace("FirstFit()", 'zoo.BEASTS["overloads"].plugin')
    (tmp_path / "test_ff.py").write_text(broken)
    run = run_pytest(tmp_path, "-k", "capacity or fixed")
    assert run.returncode == 1
    assert "test_rule[capacity]" in run.stdout
    assert "test_search[capacity]" in run.stdout
    assert "2 failed, 2 passed" in run.stdout
