"""Thrift's binary protocol written by hand: an oracle for the reader, and a maker of small topologies."""

import gzip
import json
import struct
import zipfile


def field(kind, number, payload):
    return struct.pack(">bh", kind, number) + payload


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">i", len(data)) + data


def record(*fields):
    return b"".join(fields) + b"\0"


def table(key, value, pairs):
    return struct.pack(">bbi", key, value, len(pairs)) + b"".join(a + b for a, b in pairs)


def array(kind, items):
    return struct.pack(">bi", kind, len(items)) + b"".join(items)


def component(parallelism, inputs=(), conf=None):
    """A SpoutSpec or Bolt; `inputs` are (source, stream, grouping struct)."""
    pairs = [(record(field(11, 1, text(s)), field(11, 2, text(n))), grouping) for s, n, grouping in inputs]
    parts = [field(13, 1, table(12, 12, pairs))]
    if parallelism is not None:
        parts.append(field(8, 3, struct.pack(">i", parallelism)))
    if conf is not None:
        parts.append(field(11, 4, text(json.dumps(conf))))
    return record(field(12, 2, record(*parts)))


def fields_grouping(*names):
    return record(field(15, 1, array(11, [text(name) for name in names])))


def null_grouping(number):
    return record(field(12, number, record()))


def storm_topology(spouts, bolts):
    return record(
        field(13, 1, table(11, 12, [(text(name), body) for name, body in spouts.items()])),
        field(13, 2, table(11, 12, [(text(name), body) for name, body in bolts.items()])),
    )


def write_jar(path, files):
    with zipfile.ZipFile(path, "w") as jar:
        for name, data in files.items():
            jar.writestr(name, gzip.compress(data))
    return path
