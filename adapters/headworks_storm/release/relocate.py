"""Compiled Java classes moved to another package: names in constant pools rewritten (JVM specification, 4.4)."""

from __future__ import annotations

import re
import struct

HEADER = 8
"""Bytes before the constant pool: the magic number and the version."""
UTF8 = 1
"""Tag of a text, the only constant that spells a name; the others refer to texts by number."""
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Bytes of the other constants, by tag (tables 4.4-A and 4.4-B)."""
WIDE = frozenset({5, 6})
"""Tags of constants that take two numbers: long and double (section 4.4.5)."""


def relocate(content: bytes, package: str, into: str) -> bytes:
    """Rewrite a class so that it is, and uses, the classes of a package under another name.

    Names are rewritten where the compiler writes them: in names of classes, descriptors and generic signatures. Texts
    of the program with a name in dots, as for a class looked up by name, are left.

    Args:
        package: Path of the package, such as `py4j`; the packages in it follow.
        into: Path of its new name, such as `headworks/py4j`.
    """
    # A name is the whole text, or stands after the L of a descriptor: `(Lpy4j/Gateway;)V`, `[Lpy4j/Gateway;`.
    name, new = re.compile(rb"(^|L)%s/" % package.encode()), rb"\1%s/" % into.encode()
    (count,) = struct.unpack_from(">H", content, HEADER)
    parts, at, number = [content[: HEADER + 2]], HEADER + 2, 1
    while number < count:
        tag, start = content[at], at
        at += 1 + (2 + _length(content, at + 1) if tag == UTF8 else SIZES[tag])
        text = content[start + 3 : at]
        parts.append(_utf8(name.sub(new, text)) if tag == UTF8 else content[start:at])
        number += 2 if tag in WIDE else 1
    return b"".join((*parts, content[at:]))


def _length(content: bytes, at: int) -> int:
    (length,) = struct.unpack_from(">H", content, at)
    return int(length)


def _utf8(text: bytes) -> bytes:
    return struct.pack(">BH", UTF8, len(text)) + text
