"""Plugins whose one hook misbehaves, and each hook called as the host calls it."""

from __future__ import annotations

from headgate import hooks
from headgate.hooks import Description, hookimpl
from headgate.model import Observation, Plan, Receipt
from headgate.plugins.bench import bench_of
from headgate.plugins.collect import documents_of, measured_claims_of, needs_of
from memory_engine import Machine
from small_requests import component, node, request, topology

HOOKS = {
    "headgate_observe": lambda host: host.observe("bad", object(), 1.0),
    "headgate_preflight": lambda host: host.preflight("bad", object(), Plan()),
    "headgate_keeps": lambda host: host.keeps("bad", object(), Plan()),
    "headgate_execute": lambda host: host.execute("bad", object(), Plan()),
    "headgate_rollback": lambda host: host.rollback("bad", object(), Receipt()),
    "headgate_scale": lambda host: host.scale("bad", object(), add=1, drain=()),
    "headgate_review": lambda host: host.review(request([node("a")], [topology("t", component("c", 1))]), Plan()),
    "headgate_evidence": lambda host: host.evidence("bad"),
    "headgate_measured_claims": lambda host: measured_claims_of(host, "even"),
    "headgate_documents": documents_of,
    "headgate_needs": needs_of,
    "headgate_examine": lambda host: host.examine("bad", None),
    "headgate_bench": lambda host: bench_of(host, "bad").__enter__(),
    "headgate_experiment": lambda host: host.experiment("bad", None, "even", seed=1, seconds=1.0),
    "headgate_analyse": lambda host: host.analyse("bad", Observation()),
    "headgate_intake": lambda host: host.call("bad", "headgate_intake", target=object()),
    "headgate_recover": lambda host: host.call("bad", "headgate_recover", steering=None, address=None),
    "headgate_reschedule": lambda host: host.call(
        "bad", "headgate_reschedule", change=None, steering=None, drain=None, address=None
    ),
    "headgate_prioritise": lambda host: host.prioritise("bad", Observation(), None),
    "headgate_open": lambda host: host.open("bad", (), None).__enter__(),
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
        "headgate_describe": hookimpl(lambda self: Description(summary="Bad.")),
        **({"headgate_schedule": hookimpl(lambda self, request: Plan())} if hook == "headgate_analyse" else {}),
        hook: misbehaving(hook, act),
    }
    return type("Bad", (), members)()


def machine():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    return Machine(Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment))
