"""A reader of Thrift's binary protocol: generic structs, no generated code.

Wire format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable

Struct = dict[int, Any]
"""Field id to value. Text and binary look alike on the wire, so both are bytes."""

MAX_DEPTH = 64
"""Levels of structs and containers. With many more, garbage could exhaust Python's stack; topologies have 7."""

STOP, STRING, STRUCT, MAP, SET, LIST = 0, 11, 12, 13, 14, 15
"""Type codes of the protocol."""
SCALARS = {2: ">?", 3: ">b", 4: ">d", 6: ">h", 8: ">i", 10: ">q"}
"""Type code of each fixed-size value, and how `struct` unpacks it: bool, i8, double, i16, i32, i64."""


def read_struct(data: bytes) -> Struct:
    """Read one struct that fills `data`.

    Lists and sets become lists, maps lists of (key, value) pairs (a key may be a struct). The size of every
    value is checked against the bytes that are left before anything is allocated.

    Raises:
        DocumentError: The bytes end early, go on after the struct, nest too deep or hold an unknown type.
    """
    reader = _Reader(data)
    value = reader.struct(MAX_DEPTH)
    if reader.left:
        raise DocumentError("", f"{reader.left} bytes follow the Thrift struct of {reader.at}; is it another format?")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self._compound: dict[int, Callable[[int], Any]] = {
            STRUCT: self.struct,
            MAP: self._map,
            SET: self._list,
            LIST: self._list,
        }

    @property
    def left(self) -> int:
        return len(self._data) - self.at

    def struct(self, depth: int) -> Struct:
        """Fields of type (1 byte), id (2 bytes) and value, until the type STOP."""
        fields: Struct = {}
        while (kind := self._scalar(">B")) != STOP:
            field = self._scalar(">h")
            fields[field] = self._value(kind, depth - 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in SCALARS:
            return self._scalar(SCALARS[kind])
        if kind == STRING:
            return self._take(self._size(1))
        if depth <= 0:
            raise DocumentError("", f"Thrift values nest deeper than {MAX_DEPTH} at byte {self.at}")
        read = self._compound.get(kind)
        if read is None:
            raise DocumentError("", f"{kind} is not a Thrift type (byte {self.at}); is it another format?")
        return read(depth)

    def _list(self, depth: int) -> list[Any]:
        """Type of the elements, their number, and the elements."""
        kind = self._scalar(">B")
        return [self._value(kind, depth - 1) for _ in range(self._size(1))]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        """Types of keys and of values, their number, and the pairs."""
        key, value = self._scalar(">B"), self._scalar(">B")
        return [(self._value(key, depth - 1), self._value(value, depth - 1)) for _ in range(self._size(2))]

    def _size(self, each: int) -> int:
        """Read a count of values of at least `each` bytes, and refuse one that cannot be."""
        size = self._scalar(">i")
        if size < 0 or size * each > self.left:
            raise DocumentError("", f"a Thrift value of size {size} at byte {self.at} has {self.left} bytes left")
        return int(size)

    def _scalar(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, size: int) -> bytes:
        if size > self.left:
            raise DocumentError("", f"{size} bytes are needed at byte {self.at}, {self.left} are left")
        taken = self._data[self.at : self.at + size]
        self.at += size
        return taken
