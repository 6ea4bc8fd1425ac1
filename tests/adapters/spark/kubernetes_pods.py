"""A pod as a process of this machine: what the entry point of Spark's images would run, with its container's variables.

A process has no mounts. Each is a folder, by whose path the mount's is replaced in variables, arguments and files.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from headworks_local.java import find_java
from headworks_spark.driver.jar import spark_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from adapters.spark.kubernetes_server import Json

EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
"""Main class of an executor, as the entry point calls it."""


@attrs.frozen
class PodProcess:
    """Command and environment of a pod's container."""

    command: list[str]
    env: dict[str, str]

    @classmethod
    def of(cls, pod: Json, folder: Path, maps: Mapping[str, Json], hosts: Path) -> PodProcess:
        """What runs in a pod that has its node and address.

        Args:
            folder: Of its own.
            maps: Config maps by name.
            hosts: File with the names that its cluster resolves.
        """
        (container,) = pod["spec"]["containers"]
        mounts = mounted(pod, folder, maps)
        told = {each["name"]: replaced(_value(each, pod), mounts) for each in container["env"]}
        # PySpark's package is what an image has.
        own = {"PATH": os.environ["PATH"], "HOME": str(folder), "SPARK_HOME": str(spark_home().path)}
        own["SPARK_LOCAL_IP"] = pod["status"]["podIP"]
        own["JAVA_TOOL_OPTIONS"] = f"-Djdk.net.hosts.file={hosts}"
        role, *words = (replaced(each, mounts) for each in container["args"])
        env = own | told
        command = _driver(words, env) if role == "driver" else _executor(env)
        # Drivers write files to the folder that they are started in.
        return cls(["/usr/bin/env", "-C", str(folder), *command], env)


def mounted(pod: Json, folder: Path, maps: Mapping[str, Json]) -> dict[str, str]:
    """Make the folders of a pod's mounts, with the files of its config maps; the folder of each path, longest first."""
    (container,) = pod["spec"]["containers"]
    folders = {each["mountPath"]: folder / each["name"] for each in container.get("volumeMounts", ())}
    mounts = {path: str(folders[path]) for path in sorted(folders, key=len, reverse=True)}
    for each in folders.values():
        each.mkdir(parents=True)
    for name, data in _files(pod, maps).items():
        (folder / name).write_text(replaced(data, mounts))
    return mounts


def map_names(pod: Json) -> set[str]:
    """The config maps that a pod mounts: it does not start before they are there."""
    return {each["configMap"]["name"] for each in pod["spec"].get("volumes", ()) if "configMap" in each}


def _files(pod: Json, maps: Mapping[str, Json]) -> dict[str, str]:
    found = {}
    for volume in pod["spec"].get("volumes", ()):
        if "configMap" in volume:
            data = maps[volume["configMap"]["name"]].get("data", {})
            named = {each["key"]: each["path"] for each in volume["configMap"].get("items", ())} or {k: k for k in data}
            found |= {f"{volume['name']}/{path}": data[key] for key, path in named.items()}
    return found


def replaced(text: str, mounts: Mapping[str, str]) -> str:
    """A text with folders in place of paths of mounts."""
    return re.sub("|".join(map(re.escape, mounts)), lambda found: mounts[found[0]], text) if mounts else text


def _value(variable: Json, pod: Json) -> str:
    """A variable of a container: a text, or a field of its pod."""
    field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
    if not field:
        return str(variable.get("value", ""))
    label = re.fullmatch(r"metadata\.labels\['(.+)'\]", field)
    if label:
        return str(pod["metadata"]["labels"].get(label[1], ""))
    part, name = field.split(".")
    return str(pod[part][name])


def _driver(words: list[str], env: Mapping[str, str]) -> list[str]:
    address = env["SPARK_DRIVER_BIND_ADDRESS"]
    own = (f"spark.driver.bindAddress={address}", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}")
    options = [word for each in own for word in ("--conf", each)]
    return [f"{env['SPARK_HOME']}/bin/spark-submit", *options, "--deploy-mode", "client", *words]


def _executor(env: Mapping[str, str]) -> list[str]:
    options = [value for name, value in env.items() if name.startswith("SPARK_JAVA_OPT_")]
    arguments = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--hostname": "SPARK_EXECUTOR_POD_IP",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    words = [word for flag, name in arguments.items() for word in (flag, env[name])]
    heap = f"-Xmx{env['SPARK_EXECUTOR_MEMORY']}"
    classes = f"{env['SPARK_CONF_DIR']}:{env['SPARK_HOME']}/jars/*"
    return [str(find_java(17).program), *options, heap, "-cp", classes, EXECUTOR, *words]
