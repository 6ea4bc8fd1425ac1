"""The words every part of Headgate speaks: immutable values, Storm's terms where Storm has one."""

from headgate.model.cluster import Cluster, Node, Slot
from headgate.model.constraint import Constraint, ConstraintKind, Scope
from headgate.model.frozen import FrozenMap, Resources
from headgate.model.intake import Backlog, Change, Drain, Intake, Steering, Undrained
from headgate.model.metrics import Flow, Metrics, NodeSample, StreamSample, TaskSample, TopologySample
from headgate.model.plan import (
    ENDED_EARLY,
    NO_PROFILES,
    NOT_SEARCHED,
    STARVED,
    Bound,
    Move,
    MoveKind,
    Plan,
    Provenance,
    Reason,
    Receipt,
    Scores,
    Status,
    Step,
)
from headgate.model.request import Limits, Observation, Profile, Request
from headgate.model.topology import Component, Kind, Stream, Task, Topology

__all__ = [
    "ENDED_EARLY",
    "NOT_SEARCHED",
    "NO_PROFILES",
    "STARVED",
    "Backlog",
    "Bound",
    "Change",
    "Cluster",
    "Component",
    "Constraint",
    "ConstraintKind",
    "Drain",
    "Flow",
    "FrozenMap",
    "Intake",
    "Kind",
    "Limits",
    "Metrics",
    "Move",
    "MoveKind",
    "Node",
    "NodeSample",
    "Observation",
    "Plan",
    "Profile",
    "Provenance",
    "Reason",
    "Receipt",
    "Request",
    "Resources",
    "Scope",
    "Scores",
    "Slot",
    "Status",
    "Steering",
    "Step",
    "Stream",
    "StreamSample",
    "Task",
    "TaskSample",
    "Topology",
    "TopologySample",
    "Undrained",
]
