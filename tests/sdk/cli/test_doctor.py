from __future__ import annotations

from headworks.cli.findings import examine
from headworks.hooks import Description, Finding, hookimpl
from headworks.plugins.host import PluginHost
from headworks.plugins.loading import SHADOWED, Quarantined, Registry


def findings():
    return {each.subject: each for each in examine(PluginHost.load())}


def test_python_packages_java_and_plugins_are_looked_at():
    found = findings()
    assert {"Python", "Java", "pyspark", "py4j", "jgo", "ortools", "hypothesis"} <= set(found)
    assert found["Python"].status == "ok"
    assert {f"plugin {name}" for name in PluginHost.load().plugins} <= set(found)


def test_missing_java_is_no_fault_but_named_with_its_fix(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = findings()["Java"]
    assert java.status == "missing"
    assert str(tmp_path) in java.detail
    assert "Install" in java.fix


def test_a_cache_folder_that_cannot_be_written_is_no_fault_but_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "deep" / "down"))
    assert findings()["cache folder"].status == "ok"
    (tmp_path / "deep").touch()
    cache = findings()["cache folder"]
    assert (cache.status, cache.detail) == ("missing", f"{tmp_path / 'deep'} cannot be written")


def test_what_is_set_aside_is_broken_and_says_how_to_go_on():
    aside = Quarantined(name="acme", origin="acme:plugin of acme", reason="cannot be imported: ImportError: x")
    found = examine(PluginHost(Registry(ready=(aside,))), (aside,))
    for subject in ("plugin acme", "command acme"):
        finding = next(each for each in found if each.subject == subject)
        assert finding.status == "broken"
        assert "ImportError: x" in finding.detail
        assert "HEADWORKS_DISABLE_PLUGINS" in finding.fix


def test_who_has_the_name_of_a_built_in_plugin_is_not_told_to_switch_that_one_off():
    aside = Quarantined(name="even", origin="acme:plugin of acme", reason=SHADOWED)
    finding = next(each for each in examine(PluginHost(Registry(shadowed=(aside,)))) if each.subject == "plugin even")
    assert (finding.status, finding.fix) == ("broken", "rename or uninstall it: the built-in one works on")


class Needy:
    """Need something that is not there."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_needs(self):
        return (Finding.of_package("no-such-package", "pip install 'acme[all]'"),)


def test_plugins_say_what_they_need_and_the_same_thing_is_named_once():
    host = PluginHost().with_plugin("one", Needy()).with_plugin("two", Needy())
    found = [each for each in examine(host) if each.subject == "no-such-package"]
    (finding,) = found
    assert (finding.status, finding.detail, finding.fix) == ("missing", "not installed", "pip install 'acme[all]'")
