"""The hooks a plugin may implement. What it implements says what it is: scheduler, monitor, executor.

A plugin is one object, named by its entry point in the group `headworks`, and loaded when its name is first asked for.
Hooks are called by name on the plugin that a user chose, through `headworks.plugins.host.PluginHost`, except where a
contract says *every plugin*. An implementation may take any subset of a hook's arguments.
"""

from headworks.hooks.executor import Executor, ExecutorSpec
from headworks.hooks.monitor import Monitor, MonitorSpec
from headworks.hooks.optional import EngineSpec, LoopSpec, PluginSpec, PrioritySpec, SchedulingSpec
from headworks.hooks.scheduler import Ask, Scheduler, SchedulerSpec
from headworks.hooks.values import (
    COMMANDS,
    GROUP,
    HOOKSPEC_VERSION,
    ROUNDS,
    Description,
    Finding,
    NoOptions,
    Spec,
    Verdict,
    hookimpl,
    hookspec,
)

SPECS: tuple[type, ...] = (
    *(Spec, SchedulerSpec, MonitorSpec, ExecutorSpec),
    *(PluginSpec, SchedulingSpec, EngineSpec, PrioritySpec, LoopSpec),
)
"""All hook specifications."""

__all__ = [
    "COMMANDS",
    "GROUP",
    "HOOKSPEC_VERSION",
    "ROUNDS",
    "SPECS",
    "Ask",
    "Description",
    "EngineSpec",
    "Executor",
    "ExecutorSpec",
    "Finding",
    "LoopSpec",
    "Monitor",
    "MonitorSpec",
    "NoOptions",
    "PluginSpec",
    "PrioritySpec",
    "Scheduler",
    "SchedulerSpec",
    "SchedulingSpec",
    "Spec",
    "Verdict",
    "hookimpl",
    "hookspec",
]
