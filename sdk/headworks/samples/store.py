"""Samples in a folder: Parquet files by day and hour, and the states of the engine that they belong to.

`FOLDER/day=YYYY-MM-DD/hour=HH/samples-*.parquet` by the end (UTC) of a window, columns as in
`headworks.samples.rows`, and
`FOLDER/_states/TIME-DIGEST.json`: an observation document without figures, one for each change of cluster, topologies
or assignment. A file appears whole or not at all, and is named after the windows in it: who writes the same ones again
replaces it. `Retention` bounds the bytes of a folder. A Kafka topic takes the same files in messages.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import attrs

from headworks.documents import canonical, dumps, loads, write
from headworks.errors import EngineError, HeadworksError
from headworks.model import Metrics, Observation, Request
from headworks.samples.rows import COLUMNS, VERSION, rows_of
from headworks.samples.topic import SampleTopic
from headworks.samples.topic import TopicAddress as TopicAddress  # who opens a sink names it

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LOG = logging.getLogger("headworks.samples")
STATES = "_states"
"""Folder of the states; readers of Parquet pass over names that begin with an underscore."""
MOMENT = "%Y%m%dT%H%M%S.%fZ"
"""How the moment of a state stands in its name."""
MARK = b"headworks.samples"
"""Key in the metadata of a file whose value is the version of its columns."""
LEFT = 0.9
"""Part of the bytes that a folder may hold that stays when files go: if larger, a large folder is listed often; if
smaller, many files go at once."""
ROWS = 5000
"""Rows of a message at most: some 200 KB. With more, a broker may refuse it; with fewer, each row costs more bytes."""
Sink = Path | SampleTopic
"""A folder, or a topic, that takes samples."""


@contextlib.contextmanager
def open_sink(where: Path | TopicAddress) -> Iterator[Sink]:
    """A folder or a topic for samples; what is under way at the end of the block is waited for.

    Raises:
        EngineError: A library is missing, or there is no such topic.
        DocumentError: Kafka's client does not take its settings.
    """
    arrow_schema()  # imports pyarrow now: a service that is told to end has seconds for its last samples
    if isinstance(where, Path):
        yield where
        return
    topic = SampleTopic(where)
    try:
        yield topic
    finally:
        try:
            topic.close()
        except EngineError as error:
            LOG.warning("the last samples are lost: %s", error)


def arrow_schema() -> Any:
    """The columns as a pyarrow schema, marked with their version.

    Raises:
        EngineError: pyarrow is missing.
    """
    pa = _pyarrow()
    types = {"timestamp": pa.timestamp("us", tz="UTC"), "double": pa.float64()}
    fields = [(name, types.get(each) or pa.type_for_alias(each)) for name, each in COLUMNS.items()]
    return pa.schema(fields, metadata={MARK: str(VERSION).encode()})


def write_rows(sink: Sink, rows: Iterable[dict[str, Any]]) -> tuple[Path, ...]:
    """Add rows to a folder, one file for each hour in them, whole or not at all; or send them to a topic.

    Returns:
        The files in the folder.

    Raises:
        EngineError: pyarrow is missing, or a file cannot be written or sent.
    """
    hours: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        hours[f"{row['end']:day=%Y-%m-%d/hour=%H}"].append(row)
    if isinstance(sink, SampleTopic):
        sink.put([each for hour in sorted(hours) for each in _messages(hour, hours[hour])])
        return ()
    return tuple(_write(sink / hour, hours[hour]) for hour in sorted(hours))


def write_state(sink: Sink, observation: Observation, end: float) -> tuple[Path, ...]:
    """Write or send what an engine is at a moment, without what it did.

    Args:
        end: End of the window, seconds since the epoch.

    Returns:
        The file in the folder.

    Raises:
        DocumentError: The file cannot be written.
        EngineError: It cannot be sent.
    """
    state = attrs.evolve(observation, metrics=Metrics())
    moment = datetime.fromtimestamp(end, UTC)
    name = f"{moment.strftime(MOMENT)}-{state_digest(state)}.json"
    if isinstance(sink, SampleTopic):
        sink.put([(f"{STATES}/{name}", dumps(state).encode())])
        return ()
    file = sink / STATES / name
    write(file, state)
    return (file,)


class StateFile(Protocol):
    """A file, here or on another machine."""

    @property
    def name(self) -> str:
        """Name without folders."""

    def is_file(self) -> bool:
        """Whether it is one."""

    def read_bytes(self) -> bytes:
        """All of it."""


class StateFolder(Protocol):
    """A folder, here or on another machine."""

    def __truediv__(self, name: str, /) -> StateFolder:
        """What is in it by a name."""

    def glob(self, pattern: str, /) -> Iterable[StateFile]:
        """What is in it by a pattern."""


def read_states(folder: StateFolder) -> tuple[tuple[datetime, Observation], ...]:
    """The states of a folder and their moments, oldest first; one that cannot be read is left out, with a warning."""
    found = []
    for file in sorted((folder / STATES).glob("*.json"), key=lambda each: each.name):
        if not file.is_file():  # a pipe would be waited for
            continue
        try:
            moment = datetime.strptime(file.name.partition("-")[0], MOMENT).replace(tzinfo=UTC)
            found.append((moment, loads(file.read_bytes(), Observation, source=str(file))))
        except (OSError, ValueError) as error:  # no moment, or a DocumentError
            LOG.warning("%s is left out: %s", file, error)
    return tuple(sorted(found, key=lambda each: each[0]))


def state_digest(observation: Observation) -> str:
    """Names a state by its content."""
    text = canonical(Request.of(attrs.evolve(observation, metrics=Metrics())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Keeper:
    """Keeps observations in a folder or a topic, as they come; what cannot be written is lost with a warning."""

    def __init__(self, sink: Sink, engine: str, clock: Callable[[], float] = time.time) -> None:
        """Remember where; `engine` is what is watched, `clock` tells seconds since 1970 (UTC) of its time."""
        self._sink = sink
        self._engine = engine
        self._clock = clock
        self._origin = f"{os.uname().nodename}:{os.getpid()}:{time.time_ns()}"
        self._number = 0
        self._state = ""

    def keep(self, observation: Observation) -> None:
        """Write an observation whose window has just ended; without a window there is nothing to keep."""
        if observation.metrics.window <= 0:
            return
        end = self._clock()
        self._number += 1
        rows = rows_of(observation, engine=self._engine, origin=self._origin, number=self._number, end=end)
        try:
            write_rows(self._sink, rows)
            self.keep_state(observation, end)
        except (HeadworksError, ValueError) as error:
            LOG.warning("the samples of one window are lost: %s", error)

    def keep_state(self, observation: Observation, end: float) -> tuple[Path, ...]:
        """Write the state of an engine if it is another than the last one: the file, if there is one.

        Raises:
            DocumentError: The file cannot be written.
            EngineError: It cannot be sent.
        """
        digest = state_digest(observation)
        if digest == self._state:
            return ()
        files = write_state(self._sink, observation, end)
        self._state = digest
        return files


@attrs.frozen(order=True)
class _File:
    """A file and its age: the hour of samples or the moment of a state, then the time at which it was written."""

    hour: str
    written: float
    path: Path
    size: int


@attrs.define(kw_only=True)
class Retention:
    """Keeps the folder of a writer of samples below a number of bytes.

    Attributes:
        folder: Where `day=.../hour=...` and the states are.
        most: Bytes that it may hold. The newest state stays in any case, for it is written once.
        held: Bytes that it holds, as far as the writer knows; None until the folder was listed.
    """

    folder: Path
    most: int
    held: int | None = attrs.field(default=None, init=False)

    def count(self, written: Iterable[Path]) -> None:
        """Count files that were just written, and remove the oldest of the folder if it holds too much.

        Raises:
            OSError: A file cannot be removed.
        """
        if self.held is not None:
            self.held += sum(path.stat().st_size for path in written)
        if self.held is None or self.held > self.most:
            self._remove()

    def _remove(self) -> None:
        files = sorted(_files(self.folder))
        self.held, gone = sum(each.size for each in files), 0
        if self.held <= self.most:
            return
        newest = next((each for each in reversed(files) if each.path.parent.name == STATES), None)
        for each in files:
            if self.held > LEFT * self.most and each != newest:
                each.path.unlink(missing_ok=True)
                self.held -= each.size
                gone += 1
        for folder in (*self.folder.glob("day=*/hour=*"), *self.folder.glob("day=*")):
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()
        LOG.warning("%s held more than %d MB: its oldest files, %d, are gone", self.folder, self.most >> 20, gone)


def _files(folder: Path) -> Iterator[_File]:
    """The samples and states of a folder; a file that goes meanwhile is left out."""
    places = [(path, path.name) for path in (folder / STATES).glob("*.json")]
    for path in folder.glob("day=*/hour=*/*.parquet"):
        day, hour = path.parent.parent.name.removeprefix("day="), path.parent.name.removeprefix("hour=")
        places.append((path, f"{day.replace('-', '')}T{hour}"))
    for path, hour in places:
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            yield _File(hour, found.st_mtime, path, found.st_size)


def _pyarrow() -> Any:
    try:
        # pyarrow costs 0.2 s, and is an extra. Parquet too: who looks early has it when a signal leaves a few seconds.
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise EngineError("pyarrow is not installed: `pip install pyarrow`") from None
    return pyarrow


def _write(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    file = folder / f"{_stem(rows)}.parquet"
    write_whole(file, lambda stream: _write_parquet(rows, stream))
    return file


def write_whole(file: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file, whole or not at all; its folder is made.

    Args:
        fill: Writes the content.

    Raises:
        EngineError: It cannot be written.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as stream:
            fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise EngineError(f"the samples {file} cannot be written: {error.strerror or error}") from None


def _messages(hour: str, rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Path and content of the files of an hour, none of which is too large for a broker."""
    stem = _stem(rows)
    for begin in range(0, len(rows), ROWS):
        content = io.BytesIO()
        _write_parquet(rows[begin : begin + ROWS], content)
        yield f"{hour}/{stem}{f'-{begin // ROWS}' if begin else ''}.parquet", content.getvalue()


def _stem(rows: Sequence[dict[str, Any]]) -> str:
    """Names a file after the windows in it."""
    keys = sorted({(row["engine"], row["origin"], row["number"]) for row in rows})
    return f"samples-{hashlib.sha256(repr(keys).encode()).hexdigest()[:16]}"


def _write_parquet(rows: Sequence[dict[str, Any]], stream: IO[bytes]) -> None:
    schema = arrow_schema()
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist(list(rows), schema), stream)
