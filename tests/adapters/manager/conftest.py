"""The clock of tests of the manager."""

from __future__ import annotations

import pytest


class Clock:
    """Milliseconds since 1970 that stand until a test moves them."""

    now = 1_800_000_000_000

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()
