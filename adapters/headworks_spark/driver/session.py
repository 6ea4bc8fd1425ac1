"""Spark sessions whose tasks Headworks can place, and what a given session allows."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, EngineUseError
from headworks_local.java import find_java
from headworks_local.lifetime import bound
from headworks_local.process import is_of_this_machine
from headworks_spark.driver.gateway import (
    completing,
    ignore_end_of_jvm,
    own_handler,
    running_gateway,
    session_runs,
)
from headworks_spark.driver.jar import MANAGER, PLACEMENT, SparkHome, scheduler_jar, spark_home
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.secret import secret_settings
from headworks_spark.driver.usage import PLUGIN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyspark.sql import SparkSession

    from headworks_spark.driver.driver import Executor

LOG = logging.getLogger("headworks.spark")
PREFIX = "local-cluster-hw://"
"""Master URLs with it are given Headworks's cluster manager, with Spark's own backend of a standalone cluster. It
begins as Spark's local-cluster does: under any other, Spark gives an executor one core, not all cores of its Worker."""
YARN = "yarn"
"""Master URL of YARN; sessions get Headworks's task scheduler by `PLACEMENT` there."""
ADDRESS = r"(\[[^\]]+\]|[^:,]+):\d+"
"""Host and port of a Master, an IPv6 address in brackets."""
ANSWER = 5.0
"""Seconds within which a Master has to take a connection."""
YARN_FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables for the folder of YARN's settings; Spark looks at both."""
NOT_OURS = (
    "this session does not have Headworks's task scheduler, so that no task is placed: start it on a standalone "
    "cluster, YARN or Kubernetes with the two options that `headworks spark jar` prints (--jars JAR --conf "
    f"spark.plugins={PLACEMENT}), or with headworks_spark.session('spark://HOST:PORT')"
)
"""What is said of a session at level none."""

NODE = "NODE"
"""Attribute of an executor, from `SPARK_EXECUTOR_ATTRIBUTE_NODE` in its environment: the name of the machine that it is
on, where its host says less, as the address of a pod does."""

HANDED_ON = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}
"""Executors that are told to go end their tasks first, and hand on the shuffle files that later stages read: they look
each second, by default each half minute, whether all are elsewhere."""
ADAPTIVE = "spark.sql.adaptive.enabled"
"""Spark's setting of adaptive execution, which a session may change at any time."""
ONE_JOB: dict[str, Any] = {ADAPTIVE: "false"}
"""Stages are told by their rank in their job, and adaptive execution makes a job of each exchange."""
SETTINGS = {"spark.ui.showConsoleProgress": "false", **HANDED_ON}

BEHIND = "SPARK_DIST_CLASSPATH"
"""What this variable names comes last in the class path of a JVM that Spark's scripts start."""


def session(
    master_url: str,
    app_name: str = "headworks",
    *,
    hosts: Collection[str] = (),
    timeout: float = 300.0,
    usage: bool = False,
    **conf: str,
) -> SparkSession:
    """Start a session on a standalone cluster or YARN with Headworks's task scheduler in it (level `hard`).

    Args:
        master_url: `spark://host:port` of the Master (or several, separated by commas); or `yarn`, which
            `HADOOP_CONF_DIR` or `YARN_CONF_DIR` in the environment tells of.
        app_name: Name of the application.
        hosts: Return when an executor is alive on each of these.
        timeout: Seconds to wait for them.
        usage: Also load the executor plugin that measures CPU and memory of executors with their Python workers.
        conf: Further settings; they win over Headworks's. Without `spark.sql.adaptive.enabled` among them it is set to
            false, and a warning says so.

    Raises:
        EngineError: There is no Java, the URL is none of a standalone cluster, nor `yarn`, no Master answers there, a
            session runs already, Spark does not start, or a host has no executor in time.
    """
    refuse_master(master_url)
    home = spark_home()
    find_java(home.java)
    jar = str(scheduler_jar(home))
    refuse_running(jar)
    refuse_silence(master_url)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    address = master_url.removeprefix("spark://")
    plugins = [PLACEMENT] * (master_url == YARN) + [PLUGIN] * usage
    loaded = {"spark.plugins": ",".join(plugins), "spark.jars": jar} if plugins else {}
    if ADAPTIVE not in conf:
        LOG.warning(
            "%s is set to false, as adaptive execution makes a job of each exchange of a DataFrame, "
            "which is not placed; pass it to session(...) to choose its value",
            ADAPTIVE,
        )
    settings = SETTINGS | ONE_JOB | near(master_url) | loaded | conf
    # The class path of a driver JVM is read once, at its start: the jar has to be in the environment by then.
    with behind(jar), completing(lambda own: _prove(own, master_url)):
        spark = _start(home, master_url if master_url == YARN else PREFIX + address, app_name, settings)
    try:
        _wait_for_executors(spark, hosts, timeout)
    except BaseException:
        spark.stop()
        raise
    return spark


def _prove(own: Any, master_url: str) -> None:
    """Add the secret of a Master, where it has one, to the settings of a session in its JVM."""
    for name, value in secret_settings(master_url).items():
        own.setIfMissing(name, value)


OTHERS = {
    "k8s://": "on Kubernetes spark-submit starts applications, with the jar that `headworks spark jar` writes",
    "sc://": "that is a server of Spark Connect: a client of it calls headworks_spark.connect(session)",
    "local": "a driver alone has no nodes, and `headworks spark up` starts some on this machine",
}
"""Next step for master URLs that begin so."""


def refuse_master(master_url: str) -> None:
    """Refuse a cluster on which no session can be started here; before anything is started for it.

    Raises:
        EngineUseError: The URL is none of a standalone cluster, nor `yarn` with a folder of its settings.
    """
    if master_url == YARN:
        if not any(os.environ.get(name) for name in YARN_FOLDERS):
            raise EngineUseError(f"set {' or '.join(YARN_FOLDERS)} to the folder with the yarn-site.xml of your YARN")
    elif not re.fullmatch(rf"spark://{ADDRESS}(,{ADDRESS})*", master_url):
        next_step = next((f"; {why}" for begin, why in OTHERS.items() if master_url.startswith(begin)), "")
        expected = f"expected spark://HOST:PORT or yarn{next_step}"
        raise EngineUseError(f"{master_url!r} is not a standalone cluster, nor yarn: {expected}")


def refuse_silence(master_url: str) -> None:
    """Refuse a standalone cluster of which no Master answers: Spark tries for a minute.

    Raises:
        EngineError: None does within five seconds each.
    """
    failed = []
    for each in master_url.removeprefix("spark://").split(",") if master_url != YARN else ():
        host, _, port = each.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
        except (OSError, OverflowError) as error:
            failed.append(f"{each}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    if failed:
        raise EngineError(f"no Spark Master answers ({'; '.join(failed)}): look at the address on its web page")


def level_of(spark: Any) -> str:
    """The level of a session: `hard` if it has Headworks's task scheduler, else `none`.

    Raises:
        EngineError: It was stopped, or the server of a Connect session has no jar of Headworks's.
    """
    return driver_of(spark).level()


def executors(spark: SparkSession) -> dict[str, str]:
    """Node of each live executor, by executor id: what its attribute `NODE` says, else its host."""
    return {executor: node for executor, (node, _) in located(spark).items()}


def located(spark: SparkSession, *, alive: bool = True) -> dict[str, tuple[str, str]]:
    """Node and host of each executor, by executor id."""
    return {each.id: (node_of(each), host_of(each.address)) for each in driver_of(spark).executors(alive=alive)}


def node_of(executor: Executor) -> str:
    """The node of an executor."""
    return executor.attribute(NODE) or host_of(executor.address)


def host_of(address: str) -> str:
    """The host of `host:port`; an executor that has just registered has no port yet."""
    host, _, last = address.rpartition(":")
    return host or last


def near(master_url: str) -> dict[str, str]:
    """Settings for a Master on this machine: the driver is reached where it is."""
    if master_url == YARN:
        return {}
    master = master_url.removeprefix("spark://").partition(":")[0]
    if master.startswith(("127.", "localhost")):
        address = "127.0.0.1"
    elif is_of_this_machine(master):
        address = master
    else:
        return {}
    return {"spark.driver.host": address, "spark.driver.bindAddress": address}


@contextlib.contextmanager
def behind(jar: str) -> Iterator[None]:
    """Put a jar behind Spark's own in the class path of the driver: in front, its classes would hide Spark's."""
    before = os.environ.get(BEHIND)
    os.environ[BEHIND] = os.pathsep.join(filter(None, [before, jar]))
    try:
        yield
    finally:
        os.environ.pop(BEHIND)
        if before is not None:
            os.environ[BEHIND] = before


def _start(home: SparkHome, master: str, app_name: str, settings: dict[str, str]) -> SparkSession:
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and starts no session.
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        # A JVM that is started in this block has the reaper's mark, and ends with this process.
        with bound(), own_handler():
            spark = builder.getOrCreate()
    except Exception as error:
        raise EngineError(f"Spark {home.version} does not start on {master}: {error}") from error
    ignore_end_of_jvm(spark.sparkContext)
    return spark


def refuse_running(jar: str) -> None:
    """A session that runs cannot be given another scheduler, nor a driver JVM another class path."""
    if session_runs():
        raise EngineError("a Spark session runs already in this process: stop it first, or start another process")
    gateway = running_gateway()
    if gateway is None:
        return
    # py4j is optional: a list of plugins imports this module without it.
    from py4j.protocol import Py4JJavaError

    # The JVM of a session that was stopped lives on, and serves the next one with the class path that it has.
    try:
        gateway.jvm.java.lang.Class.forName(MANAGER)
    except Py4JJavaError:
        raise EngineError(f"the driver JVM of this process was started without {jar}: start another process") from None


def _wait_for_executors(spark: SparkSession, hosts: Collection[str], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while missing := sorted(set(hosts) - set(executors(spark).values())):
        if time.monotonic() > deadline:
            raise EngineError(
                f"no executor on {', '.join(missing)} after {timeout:.0f} s: look at the logs of these Workers, and "
                "whether they offer the memory that spark.executor.memory asks for"
            )
        time.sleep(0.1)
