"""Objects of the jar's own classes in the driver's JVM, whether or not the session was started with the jar."""

from __future__ import annotations

from typing import Any

from headworks_spark.driver.gateway import running_gateway
from headworks_spark.driver.jar import scheduler_jar, spark_home

PACKAGE = "headworks.spark"


def made(name: str, *words: Any) -> Any:
    """A new object of a class of the jar, which a driver that lacks the jar loads from its file.

    Args:
        name: Name of a class with one constructor.
        words: What its constructor takes.

    Raises:
        EngineError: The driver has no jar, and none can be compiled.
    """
    # py4j is optional: a list of plugins imports this module without it.
    from py4j.java_gateway import JavaClass

    gateway = running_gateway()
    kind = getattr(gateway.jvm.headworks.spark, name)
    # py4j gives a JavaPackage for a class that the driver does not have, and raises nothing.
    if isinstance(kind, JavaClass):
        return kind(*words)
    return _loaded(gateway, name).getConstructors()[0].newInstance(_array(gateway, words))


def _loaded(gateway: Any, name: str) -> Any:
    """The class, by a loader of its own: classes of Spark and of the program are those that the driver has."""
    jvm = gateway.jvm
    places = gateway.new_array(jvm.java.net.URL, 1)
    places[0] = jvm.java.io.File(str(scheduler_jar(spark_home()))).toURI().toURL()
    ours = jvm.java.net.URLClassLoader(places, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    return ours.loadClass(f"{PACKAGE}.{name}")


def _array(gateway: Any, words: tuple[Any, ...]) -> Any:
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(words))
    for index, word in enumerate(words):
        array[index] = word
    return array
