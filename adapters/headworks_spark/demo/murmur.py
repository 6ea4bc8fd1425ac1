"""Spark SQL's hash partitioning of a string: its own variant of MurmurHash3 (x86, 32 bits)."""

from __future__ import annotations

MASK = 0xFFFFFFFF
"""Keeps 32 bits, for Python's integers do not overflow."""
SEED = 42
"""Seed of Spark's `HashPartitioning`; any other sends keys elsewhere."""


def partition(key: str, count: int) -> int:
    """Partition of a string key.

    Args:
        key: The text; its UTF-8 bytes are hashed.
        count: Number of partitions.
    """
    value = _hash(key.encode())
    # Spark's Pmod of a signed 32-bit integer; Python's % is never negative.
    return (value - (1 << 32) if value >> 31 else value) % count


def _hash(data: bytes) -> int:
    """Whole little-endian words first; each byte that is left is a word of its own, signed, unlike the original."""
    whole = len(data) // 4 * 4
    words = [int.from_bytes(data[start : start + 4], "little") for start in range(0, whole, 4)]
    words += [(byte - 256 if byte > 127 else byte) & MASK for byte in data[whole:]]
    state = SEED
    for word in words:
        state = _mix(state, word)
    return _finish(state ^ len(data))


def _mix(state: int, word: int) -> int:
    word = _rotate(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
    return (_rotate(state ^ word, 13) * 5 + 0xE6546B64) & MASK


def _finish(state: int) -> int:
    state = (state ^ state >> 16) * 0x85EBCA6B & MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & MASK
    return state ^ state >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & MASK
