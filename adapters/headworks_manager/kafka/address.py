"""A Kafka topic on the command line, and the file with settings of Kafka's client."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.errors import DocumentError

if TYPE_CHECKING:
    from pathlib import Path

TOPIC = "headworks-triggers"
"""Default of the topic: one that programs can be told once."""
BROKER = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:/,\[\]]+):([0-9]{1,5})")
NAME = re.compile(r"[A-Za-z0-9._-]{1,240}")
"""Names that Kafka allows, of which the dead-letter topic's is longer."""


class KafkaTopic(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """HOST:PORT[,HOST:PORT...][/TOPIC]."""

    name = "topic"

    @attrs.frozen
    class Where:
        """Brokers to ask first, and the name of a topic."""

        bootstrap: str
        topic: str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Where:
        """Brokers and topic of a text.

        Args:
            value: The text, or what was made of it already.
            param: Parameter, for the error.
            ctx: Context, for the error.
        """
        if isinstance(value, self.Where):
            return value
        bootstrap, slash, topic = str(value).partition("/")
        for each in bootstrap.split(","):
            if not (match := BROKER.fullmatch(each)) or int(match[2]) > 65535:
                self.fail(f"{each!r} is no HOST:PORT of a broker", param, ctx)
        if slash and not NAME.fullmatch(topic):
            self.fail(f"{topic!r} is no name of a topic: 1 to 240 letters, digits, '.', '_' and '-'", param, ctx)
        return self.Where(bootstrap, topic or TOPIC)


def read_settings(file: Path) -> dict[str, str]:
    """Settings of Kafka's client, by librdkafka's names.

    Args:
        file: A NAME=VALUE a line; empty lines and those that begin with # say nothing.

    Raises:
        DocumentError: It cannot be read, or a line is none of these.
    """
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError("", f"{file} cannot be read: {error}") from None
    settings = {}
    for number, line in enumerate(lines, start=1):
        name, equals, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.strip():
            raise DocumentError("", f"line {number} of {file} is no NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings
