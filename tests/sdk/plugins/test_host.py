"""The host: it loads what is fit, sets the rest aside by name, and goes on."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from headworks.cli.findings import examine
from headworks.errors import OptionError, PluginError
from headworks.hooks import HOOKSPEC_VERSION, Description, Finding, Verdict, hookimpl
from headworks.interrupts import Terminated
from headworks.model import Observation, Plan, Receipt, Request
from headworks.plugins.host import PluginHost
from headworks.plugins.loading import DISABLE, Quarantined, admit
from headworks.testing import FirstFit
from plugin_folder import GOOD, install
from zoo import CAGED


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
    "unmade": ("class Plugin: pass\nplugin = Plugin", "names the class Plugin, an object of it is needed"),
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


def test_nobody_takes_the_name_of_a_built_in_plugin(tmp_path, monkeypatch):
    install(tmp_path, "stranger", {"even": GOOD, "good": GOOD}, rounds="even = stranger_even:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["even", "good"])
    assert {name: each.distribution for name, each in host.plugins.items()} == {"even": "headworks", "good": "stranger"}
    (aside,) = host.quarantined
    assert (aside.name, aside.origin) == ("even", "stranger_even:plugin of stranger")
    assert "built-in" in aside.reason
    assert "stranger_even" not in sys.modules
    plan = host.with_plugin("acme", FirstFit()).schedule("even", Request())
    assert plan.provenance.scheduler == "even"


def test_how_long_a_plugin_takes_to_load_is_known(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD, "slow": "import time; time.sleep(0.3)\n" + GOOD})
    monkeypatch.syspath_prepend(tmp_path)
    plugins = PluginHost.load(["good", "slow"]).plugins
    assert plugins["slow"].seconds >= 0.3
    assert plugins["good"].seconds > 0


@pytest.mark.parametrize(
    ("written_for", "says"),
    [
        ((HOOKSPEC_VERSION, HOOKSPEC_VERSION + 1), ""),
        ((HOOKSPEC_VERSION - 1, HOOKSPEC_VERSION), ""),
        ((HOOKSPEC_VERSION + 1, HOOKSPEC_VERSION + 2), "for hooks 2 to 3, this is 1: install a later headworks"),
        ((HOOKSPEC_VERSION - 1, HOOKSPEC_VERSION - 1), "for hooks 0, this is 1: install an earlier headworks"),
    ],
)
def test_a_plugin_says_which_versions_of_the_hooks_it_keeps(written_for, says):
    class Ranged(FirstFit):
        @hookimpl
        def headworks_describe(self):
            return Description(summary="some versions", hookspec=written_for)

    found = admit("ranged", Ranged())
    assert says in found.reason if says else not isinstance(found, Quarantined)


def test_a_hook_of_later_versions_may_be_optional():
    class Later(FirstFit):
        """Keep a hook of tomorrow."""

        @hookimpl(optionalhook=True)
        def headworks_forecast(self):
            return None

    assert PluginHost().with_plugin("later", Later()).schedule("later", Request()).status == "ok"


def test_asking_for_a_plugin_that_is_set_aside_says_why(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"raising": "raise RuntimeError('no licence')"})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"raising is set aside: .*no licence.*headworks doctor"):
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
    with pytest.raises(PluginError, match=r"there is no scheduler 'akme', did you mean acme\? there are: acme"):
        host.schedule("akme", Request())


def test_a_plugin_without_the_hook_is_no_scheduler():
    host = PluginHost().with_plugin("listener", Listener([]))
    assert host.schedulers == ()
    with pytest.raises(PluginError, match="listener is not a scheduler; there are: none"):
        host.schedule("listener", Request())


def test_options_of_a_plugin_without_any():
    host = PluginHost().with_plugin("acme", FirstFit())
    with pytest.raises(OptionError, match="acme: no option 'spread'; there are: none"):
        host.schedule("acme", Request(), {"spread": True})


def test_a_scheduler_without_an_opinion_always_wants_a_new_plan():
    host = PluginHost().with_plugin("acme", FirstFit())
    assert host.analyse("acme", Observation()) == Verdict(replan=True, state="unjudged")
    assert host.workloads("acme") == ()


class Listener:
    """Listen and object."""

    def __init__(self, heard, *, fails=False):
        self.heard, self.fails = heard, fails

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_on_round(self, record):
        self.heard.append(record)
        if self.fails:
            raise RuntimeError("deaf")

    @hookimpl
    def headworks_review(self):
        return ["too many topologies"] if self.fails else None


def test_every_listener_hears_of_a_round_even_if_one_fails():
    heard = []
    host = PluginHost().with_plugin("a", Listener(heard, fails=True)).with_plugin("b", Listener(heard))
    (failed,) = host.on_round({"round": 1})
    assert failed.startswith("a: headworks_on_round raised RuntimeError: deaf (plugins/test_host.py:")
    assert heard == [{"round": 1}, {"round": 1}]


def test_objections_carry_the_name_of_the_plugin():
    host = PluginHost().with_plugin("a", Listener([], fails=True)).with_plugin("b", Listener([]))
    assert host.review(Request(), Plan()) == ("a: too many topologies",)


def test_loading_all_built_in_plugins_imports_no_engine_and_no_solver():
    code = (
        "import sys; from headworks.plugins.host import PluginHost; assert len(PluginHost.load().plugins) > 15;"
        "print([name for name in ('pyspark', 'py4j', 'pyarrow', 'pandas', 'ortools', 'jgo') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


WRAPPER = GOOD.replace(
    "    @hookimpl\n    def headworks_schedule", "    @hookimpl(wrapper=True)\n    def headworks_schedule"
)
WRAPPER = WRAPPER.replace("return problem.plan([-1] * problem.n)", "yield")
FIRST = GOOD.replace("@hookimpl\n    def headworks_schedule", "@hookimpl(tryfirst=True)\n    def headworks_schedule")


def test_a_hook_wrapper_is_set_aside_and_tryfirst_changes_nothing(tmp_path, monkeypatch):
    assert GOOD not in (WRAPPER, FIRST)
    install(tmp_path, "strange", {"good": GOOD, "wrapper": WRAPPER, "first": FIRST})
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["good", "wrapper", "first"])
    assert host.schedulers == ("first", "good")
    (aside,) = host.quarantined
    assert "headworks_schedule is a hook wrapper" in aside.reason


REVIEWER = """
from headworks.hooks import Description, hookimpl

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="objects")

    @hookimpl
    def headworks_review(self):
        return ["never"]

    @hookimpl
    def headworks_on_round(self, record):
        pass

plugin = Plugin()
"""


def test_what_takes_part_in_every_round_is_named_in_a_group_of_its_own(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"said": REVIEWER, "unsaid": REVIEWER}, rounds="said = strange_said:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["said", "unsaid"])
    assert host.review(Request(), Plan()) == ("said: never",)
    assert "strange_unsaid" not in sys.modules
    (aside,) = host.quarantined
    assert aside.name == "unsaid"
    assert aside.reason.startswith("headworks_on_round, headworks_review would never be called: name the plugin in")
    assert host.review(Request(), Plan()) == ("said: never",)


def test_two_objects_of_one_name_are_both_set_aside(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"good": GOOD, "other": GOOD}, rounds="good = strange_other:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    (aside,) = PluginHost.load(["good"]).quarantined
    assert aside.reason == "2 objects are named 'good'; name one"
    assert aside.origin == "strange_good:plugin of strange, strange_other:plugin of strange"


def test_a_plugin_is_imported_when_its_name_is_first_asked_for(tmp_path, monkeypatch):
    install(tmp_path, "late", {"good": GOOD, "raising": "raise RuntimeError", "other": GOOD})
    monkeypatch.syspath_prepend(tmp_path)
    host = PluginHost.load(["good", "raising", "other"])
    assert "good" in host
    assert "akin" not in host
    assert not {"late_good", "late_other"} & set(sys.modules)
    assert host.schedule("good", Request()).status == "ok"
    assert "late_other" not in sys.modules
    assert host.schedulers == ("good", "other")
    assert [each.name for each in host.quarantined] == ["raising"]


def test_workloads_of_another_type_are_the_plugins_fault():
    class Chatty(FirstFit):
        """Answer something else."""

        @hookimpl
        def headworks_workloads(self):
            return ["words"]

    host = PluginHost().with_plugin("chatty", Chatty())
    with pytest.raises(
        PluginError,
        match="chatty: headworks_workloads answered a sequence with a str, a sequence of Workload is expected",
    ):
        host.workloads("chatty")


def test_a_signal_while_a_plugin_is_loaded_is_no_fault_of_the_plugin():
    class Slow:
        @hookimpl
        def headworks_describe(self):
            raise Terminated(143)

    with pytest.raises(Terminated):
        PluginHost().with_plugin("slow", Slow())


class Engine:
    """An engine that writes down what it is asked."""

    def __init__(self):
        self.asked = []

    @hookimpl
    def headworks_describe(self):
        return Description(summary="an engine")

    @hookimpl
    def headworks_needs(self):
        return [NEED, OTHER]

    @hookimpl
    def headworks_open(self, application, address):
        self.asked.append(("open", application, address))
        return contextlib.nullcontext("target")

    @hookimpl
    def headworks_observe(self, target, window):
        self.asked.append(("observe", target, window))
        return SEEN

    @hookimpl
    def headworks_preflight(self, target, plan):
        self.asked.append(("preflight", target, plan))
        return ["a", "b"]

    @hookimpl
    def headworks_execute(self, target, plan):
        self.asked.append(("execute", target, plan))
        return DONE

    @hookimpl
    def headworks_rollback(self, target, receipt):
        self.asked.append(("rollback", target, receipt))
        return UNDONE

    @hookimpl
    def headworks_scale(self, target, add, drain):
        self.asked.append(("scale", target, add, drain))
        return DONE

    @hookimpl
    def headworks_examine(self, installation):
        self.asked.append(("examine", installation))
        return [OTHER]

    @hookimpl
    def headworks_documents(self):
        return {"seen": Observation}


class Silent:
    """An engine that answers nothing where it may."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="silent")

    @hookimpl
    def headworks_needs(self):
        return [NEED]

    @hookimpl
    def headworks_preflight(self):
        return None

    @hookimpl
    def headworks_examine(self):
        return None


NEED, OTHER = Finding(subject="java", status="ok"), Finding(subject="tool", status="missing", fix="install it")
SEEN, PLAN, DONE, UNDONE = Observation(), Plan(explanation="p"), Receipt(done=True), Receipt(done=False)


def test_an_engine_is_asked_what_the_host_was_asked_and_its_answer_comes_back():
    engine = Engine()
    host = PluginHost().with_plugin("engine", engine)
    with host.open("engine", ["job.py", "1"], "a:1") as target:
        assert target == "target"
    assert host.observe("engine", target, 5.0) is SEEN
    assert host.preflight("engine", target, PLAN) == ("a", "b")
    assert host.execute("engine", target, PLAN) is DONE
    assert host.rollback("engine", target, DONE) is UNDONE
    assert host.call("engine", "headworks_scale", target=target, add=2, drain=("n",)) is DONE
    assert host.call("engine", "headworks_examine", installation=Path("here")) == (OTHER,)
    assert host.gather("headworks_documents") == ({"seen": Observation},)
    assert engine.asked == [
        ("open", ("job.py", "1"), "a:1"),
        ("observe", "target", 5.0),
        ("preflight", "target", PLAN),
        ("execute", "target", PLAN),
        ("rollback", "target", DONE),
        ("scale", "target", 2, ("n",)),
        ("examine", Path("here")),
    ]


def test_nothing_is_an_answer_where_there_may_be_none():
    host = PluginHost().with_plugin("silent", Silent())
    assert host.preflight("silent", None, PLAN) == ()
    assert host.call("silent", "headworks_examine", installation=Path("here")) == ()


def test_what_several_plugins_need_is_named_once():
    host = PluginHost().with_plugin("silent", Silent()).with_plugin("engine", Engine())
    assert [each for each in examine(host) if each in (NEED, OTHER)] == [NEED, OTHER]


def test_an_option_that_is_not_given_has_its_default_for_the_engine_that_runs():
    host = PluginHost.load(["even"])
    assert host.options_on("storm", "even", {}) == {"workers": "topology"}
    assert host.options_on("storm", "even", {"workers": "nodes"}) == {"workers": "nodes"}
    assert host.options_on("sim", "even", {}) == {}
    assert PluginHost.load(["dstorm"]).options_on("spark", "dstorm", {}) == {"scheduling_interval": 0.0}
    with pytest.raises(OptionError, match="option workers cannot be 'some'"):
        host.options_on("storm", "even", {"workers": "some"})
