"""Event logs that Spark has written, read with the parser that reads the live events."""

from __future__ import annotations

import codecs
import itertools
import json
import struct
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import attrs
import pyarrow as pa

from headworks.errors import DocumentError
from headworks_spark.events.event import ExecutorAdded, ExecutorRemoved, read_event
from headworks_spark.events.history import History
from headworks_spark.events.logfiles import log_files
from headworks_spark.events.slots import DEFAULT, TaskNeeds
from headworks_spark.events.sound import sound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from headworks_spark.events.event import TaskEnd
    from headworks_spark.events.history import Job
    from headworks_spark.events.logfiles import LogFile

BLOCK = 1 << 16
"""Bytes that are decompressed at once: at the end of a log that was cut off, less than this is lost."""
LZ4_HEADER = struct.Struct("<8sBii4x")
"""Head of a block of lz4-java, whose format Spark writes: magic, method, bytes compressed and plain, checksum."""
LZ4_MAGIC, LZ4_PLAIN = b"LZ4Block", 0x10
"""Its magic; its method, in the upper half byte, of a block that is not compressed."""
SAID = {"SparkListenerApplicationStart": "App Name", "SparkListenerLogStart": "Spark Version"}
"""Events that say which application it was, and what they call it."""
LZ4_MOST = 1 << 25
"""Bytes of the largest block that lz4-java makes."""
LONGEST = 1 << 25
"""Characters of a line above which it is given out in parts, which are no events: a file without lines stays small."""


@attrs.frozen(kw_only=True)
class ExecutorLife:
    """An executor and its time, seconds since the epoch; `ended` is None where the log ends before it.

    Attributes:
        slots: Tasks that it runs at once. `cpus`: cores that each of them takes.
        profile: Id of its resource profile, which the stages that run on it have too.
    """

    executor: str
    host: str
    slots: int
    started: float
    ended: float | None = None
    cpus: int = 1
    profile: int = DEFAULT


@attrs.frozen(kw_only=True, eq=False)
class Replay:
    """The content of a log.

    Attributes:
        history: Finished jobs and the batches of queries.
        executors: Every executor that there was, in the order in which they registered.
        lines: Lines of the log. `unread`: those that are no event, mostly the last one of a log that was cut off.
        application: Its name. `spark`: the version of Spark; both "" where the log does not say it.
    """

    history: History
    executors: tuple[ExecutorLife, ...]
    lines: int
    unread: int
    application: str = ""
    spark: str = ""


def replay(path: str | Path, *, kept: int = 1_000_000) -> Replay:
    """Read a log: one file, plain or compressed, or the folder of a rolling one.

    Sizes of single shuffle blocks are not in a log, so its jobs have no `shuffles`.

    Args:
        path: File or folder, or the URL of one in an object store.
        kept: Jobs and batches that are remembered, the latest; older ones are forgotten.

    Raises:
        DocumentError: There is no log, or its compression is not known.
        EngineError: The object store cannot be reached, or refuses.
    """
    history, lives, needs, lines, unread = History(kept), dict[str, ExecutorLife](), TaskNeeds(), 0, 0
    said = dict.fromkeys(SAID, "")
    for line in read_lines(path):
        lines += 1
        try:
            document = json.loads(line)
            needs.hear(document)
            if document["Event"] in SAID:
                said[document["Event"]] = str(document[SAID[document["Event"]]])
            event = sound(read_event(document))
            if isinstance(event, ExecutorAdded):
                lives[event.executor] = _life(event, document["Executor Info"], needs)
        except Exception:  # noqa: BLE001 - a file of others may hold anything
            unread += 1
            continue
        if event is not None:
            history.add(event)
        if isinstance(event, ExecutorRemoved) and event.executor in lives:
            lives[event.executor] = attrs.evolve(lives[event.executor], ended=event.time)
    executors = (*lives.values(), *_unheard(history.jobs, lives))
    application, spark = said.values()
    return Replay(
        history=history, executors=executors, lines=lines, unread=unread, application=application, spark=spark
    )


def _life(event: ExecutorAdded, info: Mapping[str, Any], needs: TaskNeeds) -> ExecutorLife:
    profile = int(info.get("Resource Profile Id") or DEFAULT)
    slots = needs.slots(profile, event.cores, info.get("Resources") or {})
    return ExecutorLife(
        executor=event.executor,
        host=event.host,
        slots=slots,
        started=event.time,
        cpus=needs.cpus(profile),
        profile=profile,
    )


def _unheard(jobs: Iterable[Job], known: Collection[str]) -> Iterator[ExecutorLife]:
    """Executors of which only tasks are heard, as where the beginning of a log is gone: slots are tasks at once."""
    ran: dict[tuple[str, str], list[TaskEnd]] = defaultdict(list)
    for end in (end for job in jobs for end in job.tasks if end.executor not in known):
        ran[end.executor, end.host].append(end)
    for (executor, host), ends in sorted(ran.items()):
        # At the same moment ends come first.
        moments = sorted(moment for end in ends for moment in ((end.started, 1), (max(end.started, end.ended), -1)))
        slots = max(max(itertools.accumulate(step for _, step in moments)), 1)
        yield ExecutorLife(executor=executor, host=host, slots=slots, started=moments[0][0])


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a log in their order; a file that is still written, or was cut off, ends at its last whole block.

    Args:
        path: File or folder, or the URL of one in an object store.

    Raises:
        DocumentError: There is no log, or its compression is not known.
        EngineError: The object store cannot be reached, or refuses.
    """
    for file in log_files(path):
        # A log that is written has `.inprogress`, one that Spark has compacted `.compact`, after the codec's suffix.
        suffix = file.name.removesuffix(".inprogress").removesuffix(".compact")
        with file.open() as stream:
            yield from _lines(_blocks(file, suffix, stream))


def _blocks(file: LogFile, suffix: str, stream: BinaryIO) -> Iterator[bytes]:
    if suffix.endswith((".snappy", ".lzf")):
        how = suffix.rpartition(".")[2]
        message = f"{file.name} is compressed by {how}, which is not read: set spark.eventLog.compression.codec=zstd"
        raise DocumentError("", message)
    if suffix.endswith((".zstd", ".gz")):
        return _unpacked(stream, "zstd" if suffix.endswith(".zstd") else "gzip")
    return _lz4(file.name, stream) if suffix.endswith(".lz4") else iter(partial(stream.read, BLOCK), b"")


def _unpacked(stream: BinaryIO, codec: str) -> Iterator[bytes]:
    with pa.PythonFile(stream, mode="r") as raw, pa.CompressedInputStream(raw, codec) as plain:
        while True:
            try:
                block = plain.read(BLOCK)
            except OSError:  # the file was cut off within a block
                return
            if not block:
                return
            yield block


def _lz4(name: str, stream: BinaryIO) -> Iterator[bytes]:
    codec = pa.Codec("lz4_raw")
    while len(head := bytes(stream.read(LZ4_HEADER.size))) == LZ4_HEADER.size:
        magic, method, packed, size = LZ4_HEADER.unpack(head)
        if magic != LZ4_MAGIC or not (0 <= packed <= LZ4_MOST and 0 <= size <= LZ4_MOST):
            raise DocumentError("", f"{name} is not compressed as Spark compresses by lz4")
        block = bytes(stream.read(packed))
        if len(block) < packed:  # the file was cut off within a block
            return
        if size:  # an empty block is the end of a stream, after which another one may begin
            yield block if method & 0xF0 == LZ4_PLAIN else _plain(codec, block, size, name)


def _plain(codec: pa.Codec, block: bytes, size: int, name: str) -> bytes:
    try:
        found: bytes = codec.decompress(block, size, asbytes=True)
    except (OSError, ValueError, OverflowError, MemoryError):
        raise DocumentError("", f"{name} is damaged: a block of it cannot be decompressed") from None
    return found


def _lines(blocks: Iterator[bytes]) -> Iterator[str]:
    """Lines of a file, a block of it in memory at a time."""
    decoder, rest = codecs.getincrementaldecoder("utf-8")("replace"), ""
    for block in blocks:
        *lines, rest = (rest + decoder.decode(block)).split("\n")
        yield from lines
        if len(rest) > LONGEST:
            yield rest
            rest = ""
    if rest:
        yield rest
