import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.errors import DocumentError
from headworks_storm.client.thrift import MAX_DEPTH, read_struct
from thrift_writer import array, field, record, table, text

SCALARS = [
    (2, st.booleans(), ">?"),
    (3, st.integers(-(2**7), 2**7 - 1), ">b"),
    (4, st.floats(allow_nan=False), ">d"),
    (6, st.integers(-(2**15), 2**15 - 1), ">h"),
    (8, st.integers(-(2**31), 2**31 - 1), ">i"),
    (10, st.integers(-(2**63), 2**63 - 1), ">q"),
]
scalars = st.one_of(
    *(
        values.map(lambda value, kind=kind, form=form: (kind, struct.pack(form, value), value))
        for kind, values, form in SCALARS
    ),
    st.binary(max_size=20).map(lambda value: (11, text(value), value)),
)


def as_struct(fields):
    encoded = record(*(field(kind, number, data) for number, (kind, data, _) in fields.items()))
    return 12, encoded, {number: value for number, (_, _, value) in fields.items()}


def as_list(kind):
    def build(items):
        return kind, array(items[0][0], [items[0][1]] * len(items)), [items[0][2]] * len(items)

    return build


def as_map(pair):
    (key, key_data, key_value), (kind, data, value) = pair
    return 13, table(key, kind, [(key_data, data)]), [(key_value, value)]


def compound(inner):
    return st.one_of(
        st.dictionaries(st.integers(1, 2**15 - 1), inner, max_size=4).map(as_struct),
        st.lists(inner, min_size=1, max_size=3).map(as_list(14)),
        st.lists(inner, min_size=1, max_size=3).map(as_list(15)),
        st.tuples(inner, inner).map(as_map),
    )


values = st.recursive(scalars, compound, max_leaves=12)
structs = st.dictionaries(st.integers(1, 2**15 - 1), values, max_size=5).map(as_struct)


@given(structs)
def test_what_was_written_is_read(written):
    _, data, value = written
    assert read_struct(data) == value


@given(structs, st.data())
def test_a_struct_cut_short_is_refused(written, draw):
    _, data, _ = written
    with pytest.raises(DocumentError):
        read_struct(data[: draw.draw(st.integers(0, len(data) - 1))])


@given(st.binary(max_size=60))
def test_garbage_is_read_or_refused(data):
    with contextlib.suppress(DocumentError):
        assert isinstance(read_struct(data), dict)


def test_bytes_after_the_struct_are_refused():
    with pytest.raises(DocumentError, match="2 bytes follow"):
        read_struct(record() + b"xy")


def test_an_unknown_type_is_refused():
    with pytest.raises(DocumentError, match="9 is not a Thrift type"):
        read_struct(record(field(9, 1, b"")))


def test_a_size_that_cannot_be_is_refused_before_it_is_allocated():
    with pytest.raises(DocumentError, match="size 2147483647"):
        read_struct(field(15, 1, struct.pack(">bi", 2, 2**31 - 1)))
    with pytest.raises(DocumentError, match="size -1"):
        read_struct(field(11, 1, struct.pack(">i", -1)))


def test_structs_nest_as_deep_as_allowed_and_no_deeper():
    def nested(depth):
        return field(12, 1, b"") * depth + b"\0" * (depth + 1)

    value = read_struct(nested(MAX_DEPTH - 1))
    for _ in range(MAX_DEPTH - 1):
        value = value[1]
    assert value == {}
    with pytest.raises(DocumentError, match="nest deeper"):
        read_struct(nested(MAX_DEPTH))
    with pytest.raises(DocumentError, match="nest deeper"):
        read_struct(nested(100_000))
