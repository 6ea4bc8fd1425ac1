"""The host: it loads what is fit, sets the rest aside by name, and goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headgate.errors import OptionError, PluginError
from headgate.hooks import Description, Verdict, hookimpl
from headgate.host import DISABLE, PluginHost, Quarantined, admit
from headgate.model import Observation, Plan, Request
from headgate.testing import FirstFit
from headgate.testing.zoo import CAGED
from plugin_folder import GOOD, install


def test_loads_what_is_installed_and_knows_where_it_comes_from(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD})
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["good"])
    assert host.schedulers == ("good",)
    assert (host.plugins["good"].distribution, host.plugins["good"].version) == ("strange", "1.2.3")
    assert not host.quarantined


BROKEN = {
    "raising": ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    "exiting": ("raise SystemExit(3)", "SystemExit: 3"),
    "missing": ("import a_module_that_is_not_there", "ModuleNotFoundError"),
    "nameless": ("", "AttributeError"),
    "garbled": ("def", "SyntaxError"),
}


def test_a_plugin_that_cannot_be_imported_is_set_aside_and_the_others_load(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD, **{name: source for name, (source, _) in BROKEN.items()}})
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["good", *BROKEN])
    assert host.schedulers == ("good",)
    reasons = {each.name: each for each in host.quarantined}
    assert set(reasons) == set(BROKEN)
    for name, (_, text) in BROKEN.items():
        assert text in reasons[name].reason
        assert "strange" in reasons[name].origin


def test_two_distributions_of_one_name_are_both_set_aside(tmp_path, monkeypatch):
    for distribution in ("first", "second"):
        install(tmp_path, distribution, {"good": GOOD})
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["good"])
    assert not host.plugins
    assert {each.name for each in host.quarantined} == {"good"}
    assert "2 distributions" in host.quarantined[0].reason


def test_asking_for_a_plugin_that_is_set_aside_says_why(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"raising": "raise RuntimeError('no licence')"})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"raising is set aside: .*no licence.*headgate doctor"):
        PluginHost.load(["raising"]).schedule("raising", Request())


def test_disabled_plugins_are_not_even_imported(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD, "raising": "raise RuntimeError"})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(DISABLE, "raising, other")
    host = PluginHost.load(["good", "raising"])
    assert host.schedulers == ("good",)
    assert not host.quarantined


def test_what_is_printed_at_import_does_not_reach_stdout(tmp_path, monkeypatch, capsys):
    install(tmp_path, "strange", {"chatty": "print('hello')\n" + GOOD})
    monkeypatch.syspath_prepend(tmp_path)
    assert PluginHost.load(["chatty"]).schedulers == ("chatty",)
    heard = capsys.readouterr()
    assert (heard.out, heard.err) == ("", "hello\n")


@pytest.mark.parametrize("name", CAGED)
def test_an_unfit_plugin_is_set_aside_with_its_reason(name):
    plugin, text = CAGED[name]
    found = admit(name, plugin)
    assert isinstance(found, Quarantined)
    assert found.name == name
    assert text in found.reason
    with pytest.raises(PluginError, match=name):
        PluginHost().with_plugin(name, plugin)


def test_a_name_is_given_once():
    host = PluginHost().with_plugin("acme", FirstFit())
    with pytest.raises(PluginError, match="acme: a plugin of that name is loaded"):
        host.with_plugin("acme", FirstFit())


def test_an_unknown_name_is_answered_with_the_known_ones():
    host = PluginHost().with_plugin("acme", FirstFit())
    with pytest.raises(PluginError, match=r"no plugin 'akme' with headgate_schedule; there are: acme"):
        host.schedule("akme", Request())


def test_a_plugin_without_the_hook_is_no_scheduler():
    host = PluginHost().with_plugin("listener", Listener([]))
    assert host.schedulers == ()
    with pytest.raises(PluginError, match="headgate_schedule; there are: none"):
        host.schedule("listener", Request())


def test_options_of_a_plugin_without_any():
    host = PluginHost().with_plugin("acme", FirstFit())
    with pytest.raises(OptionError, match="acme: no option 'spread'; there are: none"):
        host.schedule("acme", Request(), {"spread": True})


def test_a_scheduler_without_an_opinion_always_wants_a_new_plan():
    host = PluginHost().with_plugin("acme", FirstFit())
    assert host.analyse("acme", Observation()) == Verdict(replan=True, state="unjudged")
    assert host.workloads("acme") == host.claims("acme") == ()


class Listener:
    """Listen and object."""

    def __init__(self, heard, *, fails=False):
        self.heard, self.fails = heard, fails

    @hookimpl
    def headgate_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headgate_on_round(self, record):
        self.heard.append(record)
        if self.fails:
            raise RuntimeError("deaf")

    @hookimpl
    def headgate_review(self):
        return ["too many topologies"] if self.fails else None


def test_every_listener_hears_of_a_round_even_if_one_fails():
    heard = []
    host = PluginHost().with_plugin("a", Listener(heard, fails=True)).with_plugin("b", Listener(heard))
    assert host.on_round({"round": 1}) == ("a: headgate_on_round raised RuntimeError: deaf",)
    assert heard == [{"round": 1}, {"round": 1}]


def test_objections_carry_the_name_of_the_plugin():
    host = PluginHost().with_plugin("a", Listener([], fails=True)).with_plugin("b", Listener([]))
    assert host.review(Request(), Plan()) == ("a: too many topologies",)


def test_loading_the_built_in_plugins_imports_no_engine():
    code = (
        "import sys; from headgate.host import PluginHost; PluginHost.load();"
        "print([name for name in ('pyspark', 'py4j', 'pyarrow', 'pandas', 'numpy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
