from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Slot
from small_requests import node


@given(st.text(min_size=1), st.integers(-(10**17), 10**17))
def test_a_slot_is_read_back_as_it_was_written(name, port):
    assert Slot.parse(str(Slot(name, port))) == Slot(name, port)


@pytest.mark.parametrize("text", ["", "a", "a:", ":6700", "a:b", "a:6.5"])
def test_what_is_no_slot_is_refused(text):
    with pytest.raises(ValueError, match=r"slot|int"):
        Slot.parse(text)


def test_supervisors_may_share_a_host():
    assert node("a").hostname == "a"
    assert node("a", host="machine").hostname == "machine"
