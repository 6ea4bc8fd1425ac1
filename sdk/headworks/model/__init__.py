"""The words every part of Headworks speaks: immutable values, Storm's terms where Storm has one."""

from headworks.model.cluster import Cluster, Node, Slot
from headworks.model.constraint import Constraint, ConstraintKind, Scope
from headworks.model.frozen import FrozenMap, Resources
from headworks.model.intake import Backlog, Change, Drain, Intake, Steering, Undrained
from headworks.model.metrics import Flow, Metrics, NodeSample, StreamSample, TaskSample, TopologySample
from headworks.model.plan import (
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
from headworks.model.request import Limits, Observation, Profile, Request
from headworks.model.topology import Component, Kind, Stream, Task, Topology

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
