"""Classes and members of Spark that the jar refers to, or overrides, as its byte code has them.

The jar takes the list along, and its plugin looks in the driver for each of them before anything is placed.
"""

from __future__ import annotations

import struct
import zipfile
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

SPARK = "org/apache/spark/"
"""Begin of the names of Spark's classes."""
OURS = "headworks/spark/"
"""Begin of the names of the jar's; in a folder below it are those for one part of Spark."""
CORE = "core"
"""What the list calls those that are in no such folder."""
_LENGTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Bytes of a constant of each kind, after the byte that tells it."""
_KINDS = {9: "field", 10: "method", 11: "interface"}
"""Kinds of constants that refer to a member: an "interface" is a method of one."""
_INTERFACE, _FIXED = 0x200, 0x2 | 0x8
"""Flags of a class that is an interface, and of methods that nobody overrides: private ones, static ones."""

Member = tuple[str, str]
"""Name and descriptor."""


@attrs.frozen
class ClassFile:
    """What one class is, and what it refers to.

    Attributes:
        name: Its name, with slashes, as all here.
        supers: Its superclass, then its interfaces.
        is_interface: True of an interface.
        members: Its fields and methods.
        virtual: Its methods that may override others, and may be overridden.
        classes: Classes that it names.
        references: Kind, class, and member, of what it reads or calls.
    """

    name: str
    supers: tuple[str, ...]
    is_interface: bool
    members: frozenset[Member]
    virtual: frozenset[Member]
    classes: frozenset[str]
    references: frozenset[tuple[str, str, Member]]


class _Reader:
    """Reads a class file from its begin to its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 8
        self.constants: dict[int, tuple[int, bytes]] = {}
        (count,) = self.take(">H")
        index = 1
        while index < count:
            (tag,) = self.take(">B")
            length = self.take(">H")[0] if tag == 1 else _LENGTHS[tag]
            self.constants[index] = (tag, data[self._at : self._at + length])
            self._at += length
            # Numbers of eight bytes take two places.
            index += 2 if tag in (5, 6) else 1

    def take(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return found

    def text(self, index: int) -> str:
        return self.constants[index][1].decode("utf-8", "replace")

    def numbers(self, index: int) -> tuple[int, ...]:
        data = self.constants[index][1]
        return struct.unpack(f">{len(data) // 2}H", data)

    def named(self, index: int) -> str:
        """The name of a class."""
        return self.text(self.numbers(index)[0])

    def member(self, index: int) -> Member:
        name, descriptor = self.numbers(index)
        return self.text(name), self.text(descriptor)

    def members(self) -> Iterator[tuple[int, Member]]:
        """Flags, name and descriptor of each field, or each method, which come next."""
        for _ in range(self.take(">H")[0]):
            flags, name, descriptor, attributes = self.take(">4H")
            for _ in range(attributes):
                _, length = self.take(">HI")
                self._at += length
            yield flags, (self.text(name), self.text(descriptor))


def read_class(data: bytes) -> ClassFile:
    """Read a class file.

    Args:
        data: All of it.
    """
    reader = _Reader(data)
    flags, itself, superclass, interfaces = reader.take(">4H")
    supers = (superclass, *reader.take(f">{interfaces}H"))
    fields, methods = list(reader.members()), list(reader.members())
    constants = reader.constants.items()
    referred = ((_KINDS[tag], reader.numbers(index)) for index, (tag, _) in constants if tag in _KINDS)
    return ClassFile(
        name=reader.named(itself),
        supers=tuple(reader.named(each) for each in supers if each),
        is_interface=bool(flags & _INTERFACE),
        members=frozenset(member for _, member in (*fields, *methods)),
        virtual=frozenset(member for flags, member in methods if not flags & _FIXED and member[0][0] != "<"),
        classes=frozenset(_element(reader.named(index)) for index, (tag, _) in constants if tag == 7),
        references=frozenset((kind, reader.named(at[0]), reader.member(at[1])) for kind, at in referred),
    )


def _element(name: str) -> str:
    """The class of the elements of an array; any other class is itself."""
    return name.lstrip("[")[1:-1] if name.startswith("[") else name


def members(classes: Iterable[bytes], jars: Iterable[Path]) -> list[str]:
    """Lines of the part that needs it, kind, class, and where it is a member its name and descriptor.

    Args:
        classes: Class files of the jar.
        jars: Jars of the Spark that it was compiled against.
    """
    own = {each.name: each for each in map(read_class, classes)}
    with ExitStack() as opened:
        look = _library(own, [opened.enter_context(zipfile.ZipFile(jar)) for jar in jars])
        found = {
            f"{_part(each)} {kind} {owner} {' '.join(member)}".strip().replace("/", ".", owner.count("/"))
            for each in own.values()
            for kind, owner, member in _needed(each, look)
        }
    return sorted(found)


def _part(one: ClassFile) -> str:
    folder, _, below = one.name.removeprefix(OURS).partition("/")
    return folder if below else CORE


def _library(own: Mapping[str, ClassFile], jars: Iterable[zipfile.ZipFile]) -> Callable[[str], ClassFile | None]:
    """The class of a name; None of one that is neither the jar's own nor Spark's."""
    places = {name: jar for jar in jars for name in jar.namelist() if name.startswith(SPARK)}

    @cache
    def look(name: str) -> ClassFile | None:
        place = f"{name}.class"
        return read_class(places[place].read(place)) if place in places else own.get(name)

    return look


def _needed(one: ClassFile, look: Callable[[str], ClassFile | None]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    yield from (("class", name, ()) for name in one.classes if name.startswith(SPARK))
    for kind, owner, member in one.references:
        if (found := _of_spark(owner, member, look)) is not None:
            yield kind, found, member
    for member in one.virtual:
        for above in _above(one, look):
            if _has(above, member, look):
                yield "interface" if above.is_interface else "method", above.name, member


def _of_spark(owner: str, member: Member, look: Callable[[str], ClassFile | None]) -> str | None:
    """The class of Spark in which a member is looked for: an own class may inherit it. None of any other class."""
    one = look(owner)
    while one is not None and one.name.startswith(OURS) and member not in one.members:
        one = look(one.supers[0])
    return one.name if one is not None and one.name.startswith(SPARK) else None


def _above(one: ClassFile, look: Callable[[str], ClassFile | None]) -> Iterator[ClassFile]:
    """The nearest classes and interfaces of Spark that a class extends."""
    for above in filter(None, map(look, one.supers)):
        if above.name.startswith(SPARK):
            yield above
        else:
            yield from _above(above, look)


def _has(one: ClassFile, member: Member, look: Callable[[str], ClassFile | None]) -> bool:
    """Check whether a class of Spark has a method to override, or inherits it."""
    return member in one.virtual or any(_has(each, member, look) for each in filter(None, map(look, one.supers)))
