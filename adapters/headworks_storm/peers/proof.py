"""Proofs that two processes know the same token, which itself never travels.

Challenge and response by HMAC-SHA256 (RFC 2104, FIPS 198-1), a line each:

    caller:    headworks1 NAME NONCE
    listener:  NONCE PROOF
    caller:    PROOF

A proof covers both nonces, so that no line of an earlier exchange proves anything; the role, so that a proof cannot be
sent back to its maker; the caller's name; and the place where the listener listens, so that who passes lines on
from another port proves nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

PROTOCOL = "headworks1"
"""First word of every exchange; the next version has another one, and is refused by this."""
HELLO = re.compile(rb"headworks1 ([\x21-\x7e]{1,600}) ([0-9a-f]{32})")
"""A caller's first line: names are longer than any topology id in hexadecimal digits that Storm's file names allow."""
NONCE = 16
"""Random bytes of a nonce."""


def make_nonce() -> str:
    """A fresh nonce, in hexadecimal digits."""
    return secrets.token_hex(NONCE)


def prove(token: str, role: str, place: str, name: str, nonces: tuple[str, str]) -> str:
    """The proof that one side of an exchange knows a token, in hexadecimal digits.

    Args:
        role: `caller` or `listener`, the side that proves.
        place: Port of the listener; `-` where callers may reach it by another one.
        name: Name that the caller gave.
        nonces: The caller's, then the listener's.
    """
    words = " ".join((PROTOCOL, role, place, name, *nonces))
    return hmac.new(token.encode(), words.encode(), hashlib.sha256).hexdigest()


def derive(token: str, topology: str) -> str:
    """The token of one topology; whoever knows it knows neither the token it comes of nor that of another topology.

    Args:
        token: The token of the collector.
        topology: Id of the topology, as Storm has it.
    """
    return hmac.new(token.encode(), f"topology {topology}".encode(), hashlib.sha256).hexdigest()


def same(one: str | bytes, other: str) -> bool:
    """Compare in a time that does not depend on how much is equal.

    Args:
        one: What a peer sent.
        other: What is expected.
    """
    return hmac.compare_digest(one if isinstance(one, bytes) else one.encode(), other.encode())
