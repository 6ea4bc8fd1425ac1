"""Event logs in the forms that Spark gives them, made from recorded events."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa

RECORDED = Path(__file__).with_name("events-4.3.jsonl")
LINES = RECORDED.read_text().splitlines(keepends=True)


def compress(path, text, codec="zstd"):
    if codec == "lz4":
        path.write_bytes(lz4(text.encode()))
        return path
    with pa.CompressedOutputStream(str(path), codec) as out:
        out.write(text.encode())
    return path


def lz4(data, block=1 << 15):
    """Blocks of lz4-java, by its documentation; every other one is not compressed. The checksum is not looked at."""
    codec, out = pa.Codec("lz4_raw"), b""
    for number, at in enumerate(range(0, len(data), block)):
        plain = data[at : at + block]
        packed = plain if number % 2 else codec.compress(plain, asbytes=True)
        out += b"LZ4Block" + struct.pack("<Biii", 0x15 if number % 2 else 0x25, len(packed), len(plain), 0) + packed
    return out + b"LZ4Block" + struct.pack("<Biii", 0x15, 0, 0, 0)
