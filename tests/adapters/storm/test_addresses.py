"""Addresses that `storm.yaml` names: of Nimbus, and of collectors, as the jar reads them (its `WiresTest`)."""

from __future__ import annotations

import pytest

from headworks.errors import EngineError
from headworks_storm.client.gateway import nimbus_addresses
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
    with pytest.raises(ValueError, match="is not a HOST:PORT"):
        collector_addresses(named)


def test_more_than_a_worker_reports_to():
    with pytest.raises(ValueError, match="9 addresses, and a worker reports to 8"):
        collector_addresses([f"a:{port}" for port in range(1, 10)])


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"nimbus.seeds": "n1"}, r'nimbus.seeds in storm.yaml is \'n1\', and Storm takes a list: write \["n1"\]'),
        ({"nimbus.seeds": 7}, r"nimbus.seeds in storm.yaml is 7"),
        ({"nimbus.thrift.port": "http"}, r"nimbus.thrift.port in storm.yaml is 'http', which is no port"),
        ({"nimbus.thrift.port": 70_000}, r"nimbus.thrift.port in storm.yaml is 70000, which is no port"),
        ({"nimbus.thrift.port": [6627]}, r"nimbus.thrift.port in storm.yaml is \[6627\], which is no port"),
    ],
)
def test_a_nimbus_that_storm_yaml_names_in_another_form_is_a_sentence(conf, said):
    with pytest.raises(EngineError, match=said):
        nimbus_addresses(conf)


def test_addresses_of_nimbus_are_those_of_storm_yaml_or_storm_s_default():
    assert nimbus_addresses({}) == (("localhost", 6627),)
    assert nimbus_addresses({"nimbus.seeds": ["a", "b"], "nimbus.thrift.port": "7"}) == (("a", 7), ("b", 7))
