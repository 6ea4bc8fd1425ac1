"""A local cluster that one command leaves running and another one ends: its state file."""

from __future__ import annotations

import contextlib
import json
import shutil
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import attrs
from filelock import FileLock, Timeout

from headworks.errors import EngineError
from headworks.interrupts import handled, held
from headworks_local.isolated.nodes import ApartNodes
from headworks_local.isolated.sweep import end_nodes
from headworks_local.lifetime import lifetime
from headworks_local.private_files import cache_folder
from headworks_local.process import Daemon, LocalCluster, end, end_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


C = TypeVar("C", bound=LocalCluster)


@attrs.frozen(kw_only=True)
class ClusterState:
    """Contents of the state file of an engine's local cluster, of which one at a time is left running.

    A subclass adds fields that JSON can hold.

    Attributes:
        daemons: The processes that are its own.
        bridge: Name of the bridge of its nodes, "" if they are not apart.
    """

    engine: ClassVar[str]
    """Name of the engine, as in `headworks ENGINE up`."""

    title: ClassVar[str]
    """What messages call it, as in "no local TITLE runs"."""

    grace: ClassVar[float] = 10.0
    """Seconds that its daemons have to end by themselves."""

    daemons: tuple[Daemon, ...]
    bridge: str = ""

    @property
    @abstractmethod
    def where(self) -> str:
        """The address that tells the cluster from others."""

    def nodes(self) -> ApartNodes | None:
        """Its nodes that are apart, None if they are not.

        Raises:
            EngineError: They are gone.
        """
        return ApartNodes.find(self.bridge) if self.bridge else None

    @classmethod
    def folder(cls) -> Path:
        """Folder of its logs, scratch files and state file."""
        return cache_folder() / cls.engine / "cluster"

    @classmethod
    def read(cls) -> Self | None:
        """The cluster of the state file, None if there is no file or none of its processes is left.

        Raises:
            EngineError: Another version of Headworks wrote it.
        """
        try:
            document = json.loads(cls._file().read_text())
            daemons = tuple(Daemon(**each | {"log": Path(each["log"])}) for each in document.pop("daemons"))
            state = cls(daemons=daemons, **document)
        except FileNotFoundError:
            return None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            way = "end the cluster with that one, or remove the file if none runs"
            raise EngineError(f"{cls._file()} is of another version of Headworks ({error}): {way}") from error
        return state if any(each.members() for each in daemons) else None

    @classmethod
    @contextlib.contextmanager
    def alone(cls) -> Iterator[None]:
        """Keep other commands from changing the cluster in the block; the lock of one that dies is gone.

        Raises:
            EngineError: Another command changes it now, or the folder cannot be written.
        """
        lock = FileLock(cls.folder().with_suffix(".lock"), timeout=0)
        try:
            cls.folder().parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            message = f"another command starts, changes or ends the local {cls.title}: wait until it has ended"
            raise EngineError(message) from None
        except OSError as error:
            raise EngineError(f"{cls.folder().parent} cannot be written ({error}): set XDG_CACHE_HOME") from error
        try:
            yield
        finally:
            lock.release()

    def write(self) -> None:
        """Write the state file, all or nothing."""
        draft = self._file().with_suffix(".new")
        draft.write_text(json.dumps(attrs.asdict(self), default=str))
        draft.replace(self._file())

    def release(self) -> None:
        """Let all of it outlive this process."""
        for group in self._groups():
            lifetime().release(group)

    @classmethod
    @contextlib.contextmanager
    def leave(cls, make: Callable[[Path], C], note: Callable[[C], Self]) -> Iterator[Self]:
        """Start a cluster that outlives this process, if the block comes to its end.

        Raises:
            EngineError: One runs already, another command changes it, or it does not start.
        """
        with cls.alone(), handled():
            if running := cls.read():
                down = f"headworks {cls.engine} down"
                raise EngineError(f"a local {cls.title} runs at {running.where}: run `{down}` first")
            shutil.rmtree(cls.folder(), ignore_errors=True)
            cls.folder().mkdir(parents=True)
            cluster = make(cls.folder()).start()
            try:
                state = note(cluster)
                state.write()
                yield state
                state.release()
            except BaseException:
                with held():
                    cluster.stop()
                    shutil.rmtree(cls.folder(), ignore_errors=True)
                raise

    @classmethod
    def end(cls) -> Self | None:
        """End the processes of the state file, and remove it; returns what ran, None if nothing did.

        What nodes that are apart left, those of earlier clusters too, is removed with it.

        Raises:
            EngineError: Another command changes it, or another version of Headworks started it.
        """
        with cls.alone(), held():
            running = cls.read()
            if running:
                end(running.daemons, grace=cls.grace)
                for group in running._groups():  # noqa: SLF001 - its own
                    end_group(group)
            end_nodes(running.bridge if running else "")
            shutil.rmtree(cls.folder(), ignore_errors=True)
        return running

    def _groups(self) -> list[str]:
        return sorted({daemon.group for daemon in self.daemons} - {""})

    @classmethod
    def _file(cls) -> Path:
        return cls.folder() / "cluster.json"
