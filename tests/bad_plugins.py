"""Plugins whose one hook misbehaves, and each hook called as the host calls it."""

from __future__ import annotations

from headworks import hooks
from headworks.hooks import Description, hookimpl
from headworks.model import Observation, Plan, Receipt
from memory_engine import Machine
from small_requests import component, node, request, topology

HOOKS = {
    "headworks_observe": lambda host: host.observe("bad", object(), 1.0),
    "headworks_look": lambda host: host.look("bad", object()),
    "headworks_preflight": lambda host: host.preflight("bad", object(), Plan()),
    "headworks_keeps": lambda host: host.keeps("bad", object(), Plan()),
    "headworks_execute": lambda host: host.execute("bad", object(), Plan()),
    "headworks_rollback": lambda host: host.rollback("bad", object(), Receipt()),
    "headworks_scale": lambda host: host.call("bad", "headworks_scale", target=object(), add=1, drain=()),
    "headworks_review": lambda host: host.review(request([node("a")], [topology("t", component("c", 1))]), Plan()),
    "headworks_workloads": lambda host: host.workloads("bad"),
    "headworks_documents": lambda host: host.gather("headworks_documents"),
    "headworks_recognise": lambda host: host.call("bad", "headworks_recognise", document={}),
    "headworks_needs": lambda host: host.gather("headworks_needs"),
    "headworks_examine": lambda host: host.call("bad", "headworks_examine", installation=None),
    "headworks_analyse": lambda host: host.analyse("bad", Observation()),
    "headworks_intake": lambda host: host.call("bad", "headworks_intake", target=object()),
    "headworks_recover": lambda host: host.call("bad", "headworks_recover", steering=None, address=None),
    "headworks_reschedule": lambda host: host.call(
        "bad", "headworks_reschedule", change=None, steering=None, drain=None, address=None
    ),
    "headworks_prioritise": lambda host: host.call(
        "bad", "headworks_prioritise", observation=Observation(), address=None
    ),
    "headworks_open": lambda host: host.open("bad", (), None).__enter__(),
    "headworks_run": lambda host: host.run("bad", (), None, (), lambda _target, _ended: None),
}


def misbehaving(hook, act):
    """An implementation of a hook that takes all that its specification gives, and does something else."""

    def implementation(*_given):
        return act()

    specs = (each for name, each in vars(hooks).items() if name.endswith("Spec"))
    # pluggy reads the names of the arguments where it finds this.
    implementation.__wrapped__ = next(vars(spec)[hook] for spec in specs if hook in vars(spec))
    return hookimpl(implementation)


def bad(hook, act):
    """A plugin whose one hook does something else than it should."""
    members = {
        "headworks_describe": hookimpl(lambda self: Description(summary="Bad.")),
        **({"headworks_schedule": hookimpl(lambda self, request: Plan())} if hook == "headworks_analyse" else {}),
        hook: misbehaving(hook, act),
    }
    return type("Bad", (), members)()


def machine():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    return Machine(Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment))
