"""Types of parameters on the command line: addresses, finite numbers, places of this machine or of others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from headworks.samples.objects import is_url
from headworks.samples.topic import SCHEME, read_settings
from headworks.samples.topic import TopicAddress as TopicAddress  # commands name it

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound="Callable[..., Any]")
S = TypeVar("S", bound=Path | TopicAddress | None)


class Address(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """HOST:PORT; an address of IPv6 stands in brackets."""

    name = "address"

    def __init__(self, host: str = "") -> None:
        """Take the host of an address that is a port alone; without one, a host is asked for."""
        self._host = host

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port of a text."""
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        host = host if colon else self._host
        if not (host and port.isdecimal() and int(port) < 65536):
            self.fail(f"{value!r} is not a {'[HOST:]PORT' if self._host else 'HOST:PORT'}", param, ctx)
        return host.strip("[]"), int(port)


class Counted(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """NAME=COUNT, or NAME for one."""

    name = "name and count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Name and count of a text."""
        if isinstance(value, tuple):
            return value
        name, equals, count = str(value).partition("=")
        if not name or (equals and not (count.isascii() and count.isdecimal() and int(count))):
            self.fail(f"{value!r} is not a NAME=COUNT", param, ctx)
        return name, int(count or 1)


class FiniteRange(click.FloatRange):
    """A number within bounds that is neither infinite nor NaN, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number.

        Raises:
            BadParameter: It is not a number, not finite, or beyond a bound.
        """
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class PathOrUrl(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 only
    """A path of this machine, or a folder or file on others by its URL.

    Args:
        exists: True to refuse paths where nothing is; those on others are looked at when they are used.
    """

    def __init__(self, *, exists: bool, files: bool = False) -> None:
        self.name = "path or URL" if files else "folder or URL"
        self._path = click.Path(exists=exists, file_okay=files)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The place as text."""
        return str(value) if is_url(str(value)) else str(self._path.convert(str(value), param, ctx))


class KafkaTopic(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """A Kafka topic as kafka://HOST:PORT[,HOST:PORT...]/TOPIC; with a default, scheme and topic may be left out."""

    name = "topic"

    def __init__(self, default: str = "") -> None:
        """Take the topic of a text that names none."""
        self._default = default

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TopicAddress:
        """The topic of a text, or of what was made of it already."""
        if isinstance(value, TopicAddress):
            return value
        if not str(value).startswith(SCHEME) and not self._default:
            self.fail(f"{value} is not a topic: {SCHEME}HOST:PORT/TOPIC", param, ctx)
        try:
            return TopicAddress.parse(str(value).removeprefix(SCHEME), self._default)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class FolderOrTopic(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """A folder for samples, or a Kafka topic as kafka://HOST:PORT[,HOST:PORT...]/TOPIC."""

    name = "folder or topic"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | TopicAddress:
        """The place of a text, or of what was made of it already."""
        if isinstance(value, TopicAddress):
            return value
        if is_url(str(value)):
            return KafkaTopic().convert(value, param, ctx)
        return Path(str(click.Path(file_okay=False).convert(str(value), param, ctx)))


def kafka_conf_option(names: str) -> Callable[[C], C]:
    """The option for a file with settings of a client of Kafka, whose documents have their names."""
    text = f"File with settings of Kafka's client, by {names} names, a NAME=VALUE a line: of TLS, of SASL."
    return click.option("--kafka-conf", type=click.Path(exists=True, dir_okay=False, path_type=Path), help=text)


def samples_options(kept: str) -> Callable[[C], C]:
    """The options for the place of samples; `kept` says of what they are."""

    def decorate(command: C) -> C:
        text = f"Folder in which {kept} are kept, as Parquet, or a topic: kafka://HOST:PORT[,HOST:PORT...]/TOPIC."
        return click.option("--samples", type=FolderOrTopic(), help=text)(kafka_conf_option("librdkafka's")(command))

    return decorate


def with_settings(samples: S, conf: Path | None) -> S:
    """The place of samples; a topic has the settings of a file.

    Raises:
        UsageError: There is a file, and no topic.
        DocumentError: The file cannot be read.
    """
    if conf is None:
        return samples
    if not isinstance(samples, TopicAddress):
        raise click.UsageError(f"--kafka-conf is for a topic: give --samples {SCHEME}HOST:PORT/TOPIC")
    return attrs.evolve(samples, settings=read_settings(conf))
