from __future__ import annotations

from headgate.doctor import PACKAGES, examine
from headgate.host import PluginHost, Quarantined


def findings():
    return {each.subject: each for each in examine()}


def test_python_packages_java_and_plugins_are_looked_at():
    found = findings()
    assert {"Python", "Java", *PACKAGES} <= set(found)
    assert found["Python"].status == "ok"
    assert {f"plugin {name}" for name in PluginHost.load().plugins} <= set(found)


def test_missing_java_is_no_fault_but_named_with_its_fix(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = findings()["Java"]
    assert java.status == "missing"
    assert str(tmp_path) in java.detail
    assert "Install" in java.fix


def test_what_is_set_aside_is_broken_and_says_how_to_go_on(monkeypatch):
    aside = Quarantined(name="acme", origin="acme:plugin of acme", reason="cannot be imported: ImportError: x")
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: cls((), (aside,))))
    finding = findings()["plugin acme"]
    assert finding.status == "broken"
    assert "ImportError: x" in finding.detail
    assert "HEADGATE_DISABLE_PLUGINS" in finding.fix
