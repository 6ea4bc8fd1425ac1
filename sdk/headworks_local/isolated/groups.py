"""Control groups, of version 1 and of version 2: how much processor time and memory the processes of a node get."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path("/sys/fs/cgroup")
PERIOD = 20_000
"""Microseconds in which a node gets its processor time; with longer ones it stands still for longer in between."""
GONE = 5.0
"""Seconds that the last process of a node may take to leave its group; with less a busy machine keeps empty groups."""


@attrs.frozen
class Groups:
    """Folders of this machine in which control groups are made.

    Attributes:
        cpu: Folder below which a group with a share of the processor is made; None if there is none.
        memory: The same, for memory.
        unified: Whether both are one hierarchy, as in version 2.
    """

    cpu: Path | None
    memory: Path | None
    unified: bool

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that are there, each once."""
        return tuple(dict.fromkeys(each for each in (self.cpu, self.memory) if each is not None))

    def make(self, name: str) -> None:
        """Make a node's groups."""
        for folder in self.folders:
            (folder / name).mkdir(exist_ok=True)

    def join(self, name: str, pid: int) -> None:
        """Put a process into a node's groups; what it starts from then on is in them too.

        Args:
            pid: The process; without effect if it is gone.
        """
        for folder in self.folders:
            try:
                (folder / name / "cgroup.procs").write_text(str(pid))
            except ProcessLookupError:
                return

    def limit_cores(self, name: str, cores: float | None) -> None:
        """Set the processor time of a node from now on.

        Args:
            cores: Cores, None for no bound.

        Raises:
            EngineError: This machine has no such control group.
        """
        if self.cpu is None:
            if cores is None:
                return
            raise EngineError("this machine has no control group for processor time: --nodes needs one")
        folder = self.cpu / name
        quota = None if cores is None else max(1000, round(cores * PERIOD))
        if self.unified:
            (folder / "cpu.max").write_text(f"{'max' if quota is None else quota} {PERIOD}")
        else:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))

    def limit_memory(self, name: str, memory_mb: float | None) -> None:
        """Set the memory of a node from now on; a process that takes more is killed by the system.

        A bounded node gets none of the machine's swap, where the kernel accounts for it.

        Args:
            memory_mb: MB, None for no bound.

        Raises:
            EngineError: This machine has no such control group.
        """
        if self.memory is None:
            if memory_mb is None:
                return
            raise EngineError("this machine has no control group for memory")
        folder = self.memory / name
        size = None if memory_mb is None else str(round(memory_mb * 2**20))
        if self.unified:
            _write_if_there(folder / "memory.swap.max", "max" if size is None else "0")
            (folder / "memory.max").write_text(size or "max")
        else:
            # memory and swap together may at no time be bounded below memory
            _write_if_there(folder / "memory.memsw.limit_in_bytes", "-1")
            (folder / "memory.limit_in_bytes").write_text(size or "-1")
            _write_if_there(folder / "memory.memsw.limit_in_bytes", size or "-1")

    def members(self, name: str) -> tuple[int, ...]:
        """Pids of the processes in a node's groups."""
        return tuple(sorted(frozenset().union(*self._pids(name))))

    def common(self, name: str) -> frozenset[int]:
        """Pids of the processes that are in each of a node's groups: what they start is in each of them too."""
        first, *others = self._pids(name) or (frozenset(),)
        return first.intersection(*others)

    def _pids(self, name: str) -> list[frozenset[int]]:
        """Pids in a node's groups, a set for each of them."""
        return [_members(folder / name / "cgroup.procs") for folder in self.folders]

    def remove(self, name: str) -> None:
        """Remove a node's groups, which have no process left, or soon none."""
        for folder in self.folders:
            deadline = time.monotonic() + GONE
            while (folder / name).exists():
                try:
                    (folder / name).rmdir()
                except OSError as error:
                    if error.errno != errno.EBUSY or time.monotonic() > deadline:
                        break
                    time.sleep(0.05)

    def names(self) -> Iterator[str]:
        """Names of all groups directly below the folders, whoever made them."""
        found: set[str] = set()
        for folder in self.folders:
            found.update(each.name for each in folder.iterdir() if each.is_dir())
        yield from sorted(found)


def find_groups(root: Path = ROOT) -> Groups:
    """The control groups of this machine in which this process may make some.

    Args:
        root: Where they are mounted.
    """
    if (root / "cgroup.controllers").exists():
        return _unified(root)
    return Groups(cpu=_writable(root / "cpu"), memory=_writable(root / "memory"), unified=False)


def _unified(root: Path) -> Groups:
    """Groups of version 2, whose controllers have to be passed on to the groups below the root."""
    for controller in ("cpu", "memory"):
        with contextlib.suppress(OSError):
            (root / "cgroup.subtree_control").write_text(f"+{controller}")
    try:
        passed = (root / "cgroup.subtree_control").read_text().split()
    except OSError:
        passed = []
    there = _writable(root)
    return Groups(cpu=there if "cpu" in passed else None, memory=there if "memory" in passed else None, unified=True)


def _members(file: Path) -> frozenset[int]:
    try:
        return frozenset(map(int, file.read_text().split()))
    except FileNotFoundError:
        return frozenset()


def _write_if_there(file: Path, value: str) -> None:
    """Write a file that only kernels with swap accounting have."""
    if file.exists():
        file.write_text(value)


def _writable(folder: Path) -> Path | None:
    return folder if os.access(folder, os.W_OK) else None
