"""The collectors that `headworks.collector` names, read by Python as the jar reads them (its `WiresTest`)."""

from __future__ import annotations

import pytest

from headworks_storm.workers.collector import collector_addresses

TWO = (("a", 1), ("b", 2))


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (None, ()),
        ("", ()),
        (" , ", ()),
        ("a:1", TWO[:1]),
        (" a:1, b:2 ,,a:1", TWO),
        (["a:1", "b:2"], TWO),
        ("::1:6800", (("::1", 6800),)),
    ],
)
def test_one_address_several_in_a_text_and_a_list(named, found):
    assert collector_addresses(named) == found


@pytest.mark.parametrize("named", ["somewhere", "a:1,host:", [":1"], "a:99999", "a:0", 7])
def test_what_is_no_address_is_named(named):
    with pytest.raises(ValueError, match="is no HOST:PORT"):
        collector_addresses(named)


def test_more_than_a_worker_reports_to():
    with pytest.raises(ValueError, match="9 addresses, and a worker reports to 8"):
        collector_addresses([f"a:{port}" for port in range(1, 10)])
