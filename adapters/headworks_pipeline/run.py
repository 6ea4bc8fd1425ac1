"""One pass of the pipeline: tables brought up to date, knowledge and a request written from them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import dumps
from headworks.errors import DocumentError, EngineError
from headworks.model import FrozenMap, Observation, Request
from headworks.model.knowledge import Knowledge
from headworks.model.validate import check_places
from headworks.samples.store import read_states
from headworks_pipeline.intake.compaction import compact, standing
from headworks_pipeline.intake.files import AHEAD
from headworks_pipeline.learning.learn import HISTORY, RECENT, hours_of, learn, table
from headworks_pipeline.learning.requests import request_of
from headworks_pipeline.learning.states import advance, rules
from headworks_pipeline.places import Place, put_text, read_document
from headworks_pipeline.reporting.changes import changes
from headworks_pipeline.reporting.report import RunReport, write_report
from headworks_pipeline.reporting.thresholds import USUAL, Threshold, breaches
from headworks_pipeline.tables.job import Backend, Work, survey, update
from headworks_pipeline.tables.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks_pipeline.reporting.changes import Change
    from headworks_pipeline.tables.job import Update
    from headworks_pipeline.tables.manifest import Manifest

KNOWLEDGE, REQUEST = "knowledge.json", "request.json"
"""Names of the documents in the folder of results."""
STAMP = ".published"
"""Name of the file there that says what they were made of."""


@attrs.frozen(kw_only=True)
class PipelineJob:
    """Input, output and extent of a pass of the pipeline.

    Attributes:
        samples: Folder that monitors write.
        output: Folder of results.
        history: Hours that profiles and demand rest on; `recent`: those that traffic and health are averages of.
        chunk: Rows to clean at a time; None for as many as usual.
        keep: Hours whose tables are kept, the newest; None for all.
        keep_samples: Hours whose samples are kept, the newest; None for all. Only samples that tables were made of are
            removed.
        thresholds: Most rows of an hour that may not be used.
        compact: True to compact samples of hours that are over.
        may_wait: True if a folder without samples is no error, as for a job that waits for them.
    """

    samples: Place
    output: Place
    history: int = HISTORY
    recent: int = RECENT
    chunk: int | None = None
    keep: int | None = None
    keep_samples: int | None = None
    thresholds: tuple[Threshold, ...] = USUAL
    compact: bool = False
    may_wait: bool = False


Opener = Callable[[Work], AbstractContextManager[Backend]]
"""Opens an engine for what there is to do."""


class _Watch:
    """Wall seconds of the steps of a run."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        """End a step, and begin the next one."""
        now = time.perf_counter()
        self.seconds[step], self._last = now - self._last, now


def run(
    job: PipelineJob, open_backend: Opener, tell: Callable[[str], None] = lambda _: None
) -> tuple[Update, Knowledge, RunReport]:
    """Bring tables and documents up to date with the samples, and report.

    Args:
        job: Input, output and extent.
        open_backend: Opens an engine; not called if no hour has to be made.
        tell: Called with a sentence after each chunk.

    Raises:
        DocumentError: There is no such folder of samples, or a document cannot be written.
        EngineError: Another run writes to the same folder.
    """
    _check(job)
    store, watch = Store(folder=job.output), _Watch()
    with store.locked():
        if job.compact and isinstance(job.samples, Path):
            compact(job.samples, watch.started)
            watch.lap("compact samples")
        work = survey(job.samples, store, job.keep, watch.started)
        if not (work.inputs or work.ahead or job.may_wait):
            raise DocumentError("", _no_samples(job, store))
        watch.lap("look at files")
        opened = open_backend(work) if work.files else nullcontext(None)
        with opened as backend:
            watch.lap("start the engine")
            done = update(backend, work, store, chunk=job.chunk, tell=tell)
            name = backend.name if backend is not None else ""
        if job.keep_samples is not None:
            expire(work, store.manifest(), job.keep_samples, tell)
        watch.lap("make tables")
        before, knowledge = _last_knowledge(job), publish(job, store, watch.started)
        watch.lap("learn")
        report = _report(job, done, work.ahead, store.manifest(), watch, changes(before, knowledge), name)
        write_report(report, job.output)
        return done, knowledge, report


def _last_knowledge(job: PipelineJob) -> Knowledge:
    try:
        return read_document(job.output / KNOWLEDGE, Knowledge)
    except DocumentError:  # there is none, or one of another version, from which nothing can be told
        return Knowledge(samples=0)


def _report(
    job: PipelineJob,
    done: Update,
    ahead: Mapping[str, int],
    manifest: Manifest,
    watch: _Watch,
    changed: tuple[Change, ...],
    backend: str,
) -> RunReport:
    made = {hour: manifest.hours[hour] for hour in done.hours}
    hours = {hour: each.rows for hour, each in made.items()}
    hours |= {hour: FrozenMap({"clock": rows}) for hour, rows in ahead.items()}
    files = {hour: (each.unread, each.sources) for hour, each in made.items()}
    return RunReport(
        started=watch.started.isoformat(timespec="seconds"),
        backend=backend,
        seconds=FrozenMap(watch.seconds),
        hours=FrozenMap(hours),
        rows=done.rows,
        kept=len(manifest.hours) - len(made),
        lost=done.lost,
        expired=done.expired,
        breaches=breaches(hours, job.thresholds, files),
        changes=changed,
    )


def expire(work: Work, manifest: Manifest, keep: int, tell: Callable[[str], None] = lambda _: None) -> None:
    """Remove samples of old hours whose tables were made of all of them.

    Args:
        work: What was there.
        manifest: The last manifest.
        keep: Hours whose samples are kept, the newest.
        tell: Called with a sentence if samples were removed.

    Raises:
        EngineError: A file cannot be removed.
    """
    old = [hour for hour in sorted(work.there)[:-keep] if hour in manifest.hours]
    learnt = [hour for hour in old if manifest.hours[hour].inputs == work.inputs[hour]]
    for stamp in (stamp for hour in learnt for stamp in work.there[hour]):
        path = Path(stamp.path)  # only folders of this machine are expired
        try:
            for file in (*standing(path.parent, stamp.lines), path):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise EngineError(f"the samples {path} cannot be removed: {error.strerror}") from None
    if learnt:
        tell(f"the samples of {len(learnt)} hours were removed; their tables stay")


def _no_samples(job: PipelineJob, store: Store) -> str:
    made = len(store.manifest().hours)
    stay = f"; the results of {made} hours in {job.output} stay as they are" if made else ""
    return f"{job.samples} has no samples: is it mounted, and has a monitor written to it?{stay}"


def _check(job: PipelineJob) -> None:
    if isinstance(job.samples, Path) and not job.samples.is_dir():
        raise DocumentError("", f"{job.samples} is not a folder of samples: `headworks run --samples` writes one")


def publish(job: PipelineJob, store: Store, now: datetime | None = None) -> Knowledge:
    """Write `knowledge.json`, and `request.json` where a state of the engine was recorded. No Spark is needed.

    Where neither the tables nor that state are others than last time, both documents stay as they are.

    Args:
        job: Input, output and extent.
        store: Tables that are up to date; it has to be locked.
        now: Time of the run, beyond which by more than an hour no hour and no state counts; None believes all.
    """
    store.keep_states(job.samples)
    manifest = store.manifest()
    hours = hours_of(manifest, now)
    states = [(moment, each) for moment, each in read_states(job.output) if now is None or moment <= now + AHEAD]
    moments, recent = [moment for moment, _ in states], hours[-job.recent :]
    last = job.output / STAMP
    if hours and last.is_file() and last.read_text() == _stamp(job, manifest, recent, moments):
        return read_document(job.output / KNOWLEDGE, Knowledge)
    learnt, manifest = advance(store, manifest, hours, job.history)
    state = states[-1][1] if states else Observation()
    tables = {name: table(store, manifest, name, recent) for name in ("sums", "windows")}
    knowledge = learn(learnt, tables, recent[0] if recent else "", state.cluster)
    put_text(job.output / KNOWLEDGE, dumps(knowledge))
    if states:
        put_text(job.output / REQUEST, dumps(_request(state, knowledge, tables)))
    put_text(last, _stamp(job, manifest, recent, moments))
    return knowledge


def _stamp(job: PipelineJob, manifest: Manifest, recent: Sequence[str], moments: Sequence[datetime]) -> str:
    """Digest of what the documents are made of, and of the documents: as long as it holds, they need not be made."""
    known = [manifest.learnt.get(hour) for hour in recent[-1:]]
    inputs = [rules(job.history), known, [manifest.hours[hour] for hour in recent], len(moments), moments[-1:]]
    files = [job.output / name for name in (KNOWLEDGE, REQUEST)]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "" for file in files]
    return hashlib.sha256(repr([inputs, contents]).encode()).hexdigest() + "\n"


def _request(state: Observation, knowledge: Knowledge, tables: Mapping[str, Mapping[str, Any]]) -> Request:
    request = request_of(state, knowledge, tables["sums"], tables["windows"])
    try:
        check_places(request)
    except DocumentError:  # a task of the newest state stands on a node that has died
        slots = {(node.id, port) for node in request.cluster.nodes for port in node.slots}
        alive = {task: slot for task, slot in request.assignment.items() if (slot.node, slot.port) in slots}
        request = attrs.evolve(request, assignment=type(request.assignment)(alive))
    return request
