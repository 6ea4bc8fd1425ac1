"""YAML and TOML beside JSON: the same values, as strict, at the same places."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headworks import plan
from headworks.control.knowledge import read_knowledge
from headworks.documents import formats, loads, read, structure
from headworks.documents.formats import parse
from headworks.errors import DocumentError
from headworks.model import Request

PAGE = (Path(__file__).parents[3] / "docs" / "documents.md").read_text()
HAND = {
    "yaml": re.search("^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1],
    "toml": """
[[cluster.nodes]]
id = "node-1"
capacity = { cpu = 400, memory = 8192 }
slots = [6700, 6701]

[[cluster.nodes]]
id = "node-2"
capacity = { cpu = 400, memory = 8192 }
slots = [6700, 6701]

[[topologies]]
id = "orders"
components = [
  { id = "read", kind = "spout", parallelism = 2, demand = { cpu = 20 } },
  { id = "count", parallelism = 4, demand = { cpu = 50 } },
]
streams = [{ source = "read", target = "count", rate = 100 }]  # tuples/s
""",
}
"""The example of the page, and the same in TOML."""
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda each: st.lists(each) | st.dictionaries(TEXTS, each),
    max_leaves=10,
)


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request, monkeypatch):
    """Either of YAML's parsers: some systems have but the slow one."""
    if request.param == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader")
    return request.param


def test_the_example_of_the_page_is_one_request_in_each_format_which_is_planned(tmp_path):
    for name, text in HAND.items():
        (tmp_path / f"request.{name}").write_text(text)
    (tmp_path / "request.yml").write_text(HAND["yaml"])
    found = [read(file, Request) for file in tmp_path.iterdir()]
    assert found[0] == found[1] == found[2]
    assert plan(tmp_path / "request.yaml", "dstorm").status == "ok"
    assert plan(str(tmp_path / "request.toml"), "dstorm").status == "ok"


@pytest.mark.parametrize("name", ["request.json", "", "yaml", "request.yaml.json"])
def test_all_other_names_and_stdin_are_json(name):
    with pytest.raises(DocumentError, match="this is not JSON"):
        loads(HAND["yaml"], Request, source=name)


@given(DATA)
def test_what_a_library_writes_as_yaml_is_read_as_it_is(data):
    assert same(parse(yaml.safe_dump(data, allow_unicode=True), "a.yaml"), data)


@given(DATA)
def test_json_is_yaml_and_read_as_the_same(data):
    text = json.dumps(data, ensure_ascii=False)
    assert same(parse(text, "a.yaml"), parse(text))


def same(one, other):
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


SCALARS = [
    *("on", "off", "yes", "no", "y", "True", "NULL", "1:30", "0x1f", "0o17", "012", "1_000", "+1", ".5", "5."),
    *("2020-01-01", "=", "<<", "a b", "1e"),
]


@pytest.mark.parametrize("word", SCALARS)
def test_scalars_that_are_none_of_json_are_texts(word, loader):
    assert parse(f"a: {word}", "a.yaml") == {"a": word}
    assert parse(f"{word}: 1", "a.yaml") == {word: 1}


def test_scalars_of_json_are_what_they_are_there(loader):
    assert parse("[1, -2, 1.5, 1e3, true, false, null, ~, '1', \"true\"]", "a.yml") == [
        *(1, -2, 1.5, 1000.0, True, False, None, None, "1", "true"),
    ]
    assert parse("a:\n6700: x\ntrue: y\n", "a.yml") == {"a": None, "6700": "x", "true": "y"}


YAML = {
    "key twice": ("a: [{b: 1, c: 2, b: 3}]", "/a/0/b", "stands twice"),
    "key twice, quoted": ('a: 1\n"a": 2', "/a", "stands twice"),
    "not a number": ("a: [1, .NaN]", "/a/1", "not an amount"),
    "infinity": ("a: {b: -.inf}", "/a/b", "not an amount"),
    "alias": ("a: &x [1]\nb: [2, *x]", "/b/1", "write out"),
    "merge": ("a: &x {c: 1}\nb:\n  <<: *x", "/b/<<", "write out"),
    "tag": ("a: !!python/object:os.system x", "/a", "not read"),
    "tag of a list": ("a: !x [1]", "/a", "not read"),
    "list as a key": ("a:\n  ? [1]\n  : 2", "/a", "a key is a text"),
    "two documents": ("a: 1\n---\nb: 2", "", "two documents"),
    "digits": (f"a: 1{'0' * 5000}", "/a", "4300 digits"),
    "half a character": (r'a: "\ud800"', "", "this is no"),
    "control character": ("a: \x00", "", "this is not YAML"),
    "deep": ("[" * 10_000, "", "within each other|nesting"),
    "cut off": ("a: [1", "", "this is not YAML"),
    "not UTF-8": ("a: ä".encode("latin-1"), "", "UTF-8"),
}


@pytest.mark.parametrize(("text", "where", "words"), YAML.values(), ids=YAML)
def test_yaml_is_as_strict_as_json_and_says_where(text, where, words, loader):
    with pytest.raises(DocumentError, match=words) as caught:
        parse(text, "a.yaml")
    assert caught.value.pointer == where
    assert len(str(caught.value)) < 600


TOML = {
    "key twice": ("a = 1\na = 2", "", "this is not TOML"),
    "not a number": ("a = [1, { b = nan }]", "/a/1/b", "not an amount"),
    "infinity": ("[a]\nb = -inf", "/a/b", "not an amount"),
    "the first of two": ("a = nan\nb = 1979-05-27", "/a", "not an amount"),
    "date": ("a = 1979-05-27", "/a", "is a time"),
    "moment": ("a = 1979-05-27T07:32:00Z", "/a", "is a time"),
    "time": ("[[a]]\nb = 07:32:00", "/a/0/b", "is a time"),
    "digits": (f"a = 1{'0' * 5000}", "", "this is not TOML"),
    "deep": ("a = " + "[" * 10_000, "", "this is not TOML"),
    "bomb": ("a = [" + "0," * 2_000_001 + "]", "", "this is not a document: 2000001 commas"),
    "not UTF-8": ("a = 'ä'".encode("latin-1"), "", "UTF-8"),
}


@pytest.mark.parametrize(("text", "where", "words"), TOML.values(), ids=TOML)
def test_toml_is_as_strict_as_json_and_says_where(text, where, words):
    with pytest.raises(DocumentError, match=words) as caught:
        parse(text, "a.toml")
    assert caught.value.pointer == where


def test_yaml_of_more_values_than_json_may_have_is_refused(monkeypatch):
    monkeypatch.setattr(formats, "MOST_VALUES", 100)
    assert len(parse("- 1\n" * 90, "a.yaml")) == 90
    with pytest.raises(DocumentError, match="more than 100 values in 240 characters"):
        parse("-\n" * 120, "a.yaml")


@pytest.mark.parametrize("name", ["yaml", "toml"])
def test_a_fault_of_the_values_is_told_at_the_same_place_and_with_the_file(tmp_path, name):
    file = tmp_path / f"request.{name}"
    file.write_text(HAND[name].replace("parallelism", "paralelism"))
    with pytest.raises(DocumentError, match="did you mean parallelism") as caught:
        read(file, Request)
    assert caught.value.pointer == "/topologies/0/components/0/paralelism"
    assert caught.value.source == str(file)


def test_knowledge_is_read_from_yaml_too(tmp_path):
    file = tmp_path / "knowledge.yaml"
    file.write_text("profiles: []  # nothing yet\n")
    assert read_knowledge(file).profiles == ()


def test_an_empty_file_is_no_request(tmp_path):
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    with pytest.raises(DocumentError, match="not a request: None is not an object"):
        read(tmp_path / "empty.yaml", Request)


def test_infinite_amounts_are_refused_by_the_values_in_each_format():
    for name, text in {"a.json": '{"seed": 1e400}', "a.yaml": "seed: 1e400", "a.toml": "seed = 1e400"}.items():
        with pytest.raises(DocumentError) as caught:
            structure(parse(text, name), Request)
        assert caught.value.pointer == "/seed"
    assert math.isinf(parse("1e400"))
