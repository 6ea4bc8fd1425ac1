from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import FrozenMap, Resources

CHANGES = {
    "set": lambda each: each.__setitem__("a", 2),
    "delete": lambda each: each.__delitem__("a"),
    "pop": lambda each: each.pop("a"),
    "popitem": lambda each: each.popitem(),
    "clear": lambda each: each.clear(),
    "update": lambda each: each.update(a=2),
    "setdefault": lambda each: each.setdefault("b", 2),
    "or": lambda each: each.__ior__({"b": 2}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_change_is_taken(change):
    made = FrozenMap({"a": 1})
    with pytest.raises(TypeError, match="build a new one"):
        change(made)
    assert made == {"a": 1}


@given(st.dictionaries(st.text(), st.floats(0, 1e9)))
def test_equals_and_hashes_whatever_the_order_of_keys(amounts):
    turned = dict(reversed(amounts.items()))
    assert Resources(amounts) == Resources(turned)
    assert hash(Resources(amounts)) == hash(Resources(turned))


def test_survives_pickling_with_its_class():
    made = pickle.loads(pickle.dumps(Resources(cpu=1.0)))
    assert (type(made), made) == (Resources, {"cpu": 1.0})
    with pytest.raises(TypeError):
        made["cpu"] = 2.0


def test_an_absent_resource_is_zero():
    assert (Resources().cpu, Resources(memory=5.0).memory) == (0.0, 5.0)
