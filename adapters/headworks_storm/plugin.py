"""The plugin object of the Storm adapter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import headworks_schemas
from headworks.errors import EngineError, how_to_install
from headworks.hooks import Description, Finding, hookimpl
from headworks_local.java import java_finding
from headworks_storm.executor import execute, keeps, preflight, rollback
from headworks_storm.monitor import look, observe
from headworks_storm.workload.catalogue import workloads
from headworks_storm.workload.foreign import recognise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headworks.model import Intake, Observation, Plan, Receipt, Workload
    from headworks_storm.target import StormTarget

PACKAGES = {
    "py4j": f"the bridge to a JVM: {how_to_install('storm')}",
    "jgo": f"jars by coordinates: {how_to_install('storm')}",
    "pyarrow": f"samples: {how_to_install('pipeline')}",
}
"""Optional packages, and what each is for."""

DEADLINES = dict.fromkeys(("headworks_observe", "headworks_execute", "headworks_rollback"), 86_400.0)
"""Seconds of what waits as long as `--patience` or Nimbus's own settings say. With less, a patience beyond it is cut
short; with more, a Nimbus that hangs is waited for even longer."""


class Storm:
    """Answer the scheduling rounds of Apache Storm, watch its executors and move them."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the adapter."""
        return Description(summary=self.__doc__ or "", deadlines=DEADLINES)

    @hookimpl
    def headworks_needs(self) -> Sequence[Finding]:
        """Java and the optional packages."""
        return java_finding(), *(Finding.of_package(name, fix) for name, fix in PACKAGES.items())

    @hookimpl
    def headworks_observe(self, target: StormTarget, window: float) -> Observation:
        """Observe a cluster; see `headworks_storm.monitor.observe`.

        Args:
            target: The cluster.
            window: Seconds to measure.
        """
        return observe(target, window)

    @hookimpl
    def headworks_look(self, target: StormTarget) -> Observation:
        """Look at a cluster; see `headworks_storm.monitor.look`.

        Args:
            target: The cluster.
        """
        return look(target)

    @hookimpl
    def headworks_intake(self, target: StormTarget) -> Intake:
        """Give the intake of a cluster; see `headworks_storm.intake.StormIntake`.

        Args:
            target: The cluster.
        """
        if target.intake is None:
            raise EngineError(
                "topologies can be paused and seen to be empty with --home, a Storm installation whose storm.yaml "
                "names Nimbus, and --collector, to which workers report"
            )
        return target.intake

    @hookimpl
    def headworks_preflight(self, target: StormTarget, plan: Plan) -> Sequence[str]:
        """Warn of what a plan costs; see `headworks_storm.executor.preflight`.

        Args:
            target: The cluster.
            plan: The plan that may follow.
        """
        return preflight(target, plan)

    @hookimpl
    def headworks_keeps(self, target: StormTarget, plan: Plan) -> bool:
        """Say if nothing changes by a plan without moves; see `headworks_storm.executor.keeps`.

        Args:
            target: The cluster.
            plan: The plan.
        """
        return keeps(target, plan)

    @hookimpl
    def headworks_execute(self, target: StormTarget, plan: Plan) -> Receipt:
        """Carry out a plan; see `headworks_storm.executor.execute`.

        Args:
            target: The cluster.
            plan: The plan.
        """
        return execute(target, plan)

    @hookimpl
    def headworks_rollback(self, target: StormTarget, receipt: Receipt) -> Receipt:
        """Undo a plan; see `headworks_storm.executor.rollback`.

        Args:
            target: The cluster.
            receipt: Of the plan.
        """
        return rollback(target, receipt)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name topologies that `headworks storm submit` runs for real."""
        return workloads()

    @hookimpl
    def headworks_documents(self) -> Mapping[str, Mapping[str, Any]]:
        """Documents whose other end is a Java class: two of Nimbus's rounds, and what ZooKeeper has of seats."""
        names = ("storm-answer", "storm-ledger", "storm-round")
        return {name: json.loads(headworks_schemas.read(name)) for name in names}

    @hookimpl
    def headworks_recognise(self, document: Any) -> str:
        """Recognise what people of Storm have at hand; see `headworks_storm.workload.foreign.recognise`.

        Args:
            document: The plain data.
        """
        return recognise(document)

    @hookimpl
    def headworks_examine(self, installation: Path) -> Sequence[Finding]:
        """Examine an installation of Storm; see `headworks_storm.install.examine.examine`."""
        from headworks_storm.install.examine import examine  # brings asyncio, 50 ms that only this hook needs

        return examine(installation)


storm = Storm()
