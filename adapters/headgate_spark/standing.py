"""The local cluster that `headgate spark up` leaves running and `headgate spark down` ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headgate.cache import cache_folder
from headgate.daemon import Daemon, end, exit_on_sigterm
from headgate.errors import EngineError
from headgate_spark.local import LocalSpark, master_state

if TYPE_CHECKING:
    from headgate_spark.local import WorkerSpec


@attrs.frozen(kw_only=True)
class Standing:
    """What the state file says of a cluster: where its Master is, and which processes are its own."""

    master_url: str
    ui_port: int
    daemons: tuple[Daemon, ...]

    @classmethod
    def read(cls) -> Self | None:
        """The cluster of the state file, None if there is no file or none of its processes is left."""
        try:
            document = json.loads(_state_file().read_text())
        except FileNotFoundError:
            return None
        daemons = tuple(Daemon(**each | {"log": Path(each["log"])}) for each in document.pop("daemons"))
        return cls(daemons=daemons, **document) if any(each.members() for each in daemons) else None

    def write(self) -> None:
        """Write the state file, all or nothing."""
        draft = _state_file().with_suffix(".new")
        draft.write_text(json.dumps(attrs.asdict(self), default=str))
        draft.replace(_state_file())

    def describe(self) -> dict[str, Any]:
        """Its Master, and host, cores, memory and state of each Worker.

        Raises:
            EngineError: The Master is not there any more.
        """
        try:
            workers = master_state(self.ui_port)["workers"]
        except OSError as error:
            raise EngineError(
                f"the Spark Master at {self.master_url} does not answer ({error}): run `headgate spark down`"
            ) from error
        keys = ("host", "cores", "coresused", "memory", "state")
        rows = [{key: each[key] for key in keys} for each in sorted(workers, key=lambda each: str(each["host"]))]
        return {"master_url": self.master_url, "ui": f"http://127.0.0.1:{self.ui_port}", "workers": rows}


def up(workers: tuple[WorkerSpec, ...]) -> Standing:
    """Start a cluster that outlives this process.

    Raises:
        EngineError: One runs already, or it does not start.
    """
    if running := Standing.read():
        raise EngineError(f"a local Spark cluster runs at {running.master_url}: run `headgate spark down` first")
    _folder().mkdir(parents=True, exist_ok=True)
    with exit_on_sigterm():
        cluster = LocalSpark(workers, folder=_folder()).start()
        try:
            standing = Standing(master_url=cluster.master_url, ui_port=cluster.ui_port, daemons=cluster.daemons)
            standing.write()
        except BaseException:
            cluster.stop()
            raise
    return standing


def down() -> Standing | None:
    """End the processes of the state file, and remove it; returns what ran, None if nothing did."""
    running = Standing.read()
    if running:
        end(running.daemons)
    shutil.rmtree(_folder(), ignore_errors=True)
    return running


def _folder() -> Path:
    return cache_folder() / "spark" / "cluster"


def _state_file() -> Path:
    return _folder() / "cluster.json"
