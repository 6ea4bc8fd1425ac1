"""The plugin object of the Storm adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import click

    from headgate.hooks import Finding, Workload
    from headgate.model import Observation, Plan, Receipt
    from headgate_storm.target import StormTarget


class Storm:
    """Answer the scheduling rounds of Apache Storm, watch its executors and move them."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the adapter."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headgate_observe(self, target: StormTarget, window: float) -> Observation:
        """See `headgate_storm.monitor.observe`."""
        from headgate_storm.monitor import observe

        return observe(target, window)

    @hookimpl
    def headgate_preflight(self, target: StormTarget, plan: Plan) -> Sequence[str]:
        """See `headgate_storm.executor.preflight`."""
        from headgate_storm.executor import preflight

        return preflight(target, plan)

    @hookimpl
    def headgate_execute(self, target: StormTarget, plan: Plan) -> Receipt:
        """See `headgate_storm.executor.execute`."""
        from headgate_storm.executor import execute

        return execute(target, plan)

    @hookimpl
    def headgate_rollback(self, target: StormTarget, receipt: Receipt) -> Receipt:
        """See `headgate_storm.executor.rollback`."""
        from headgate_storm.executor import rollback

        return rollback(target, receipt)

    @hookimpl
    def headgate_workloads(self) -> Sequence[Workload]:
        """Topologies that `headgate storm submit` runs for real."""
        from headgate_storm.workloads import workloads

        return workloads()

    @hookimpl
    def headgate_commands(self) -> Sequence[click.Command]:
        """The groups `headgate import`, `headgate serve` and `headgate storm`, and `headgate demo storm`."""
        from headgate_storm.commands import import_group
        from headgate_storm.demo.command import demo
        from headgate_storm.serve import serve
        from headgate_storm.topology_commands import storm

        return import_group, serve, storm, demo

    @hookimpl
    def headgate_examine(self, installation: Path) -> Sequence[Finding]:
        """See `headgate_storm.examine.examine`."""
        from headgate_storm.examine import examine

        return examine(installation)


storm = Storm()
