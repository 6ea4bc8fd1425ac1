"""The shape of the packages' source, read from its syntax trees: names, sizes and imports. Ruff asks for the rest."""

import ast
import tomllib
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

PACKAGES = (
    "headworks",
    "headworks_baselines",
    "headworks_dstorm",
    "headworks_exact",
    "headworks_hetero",
    "headworks_lab",
    "headworks_local",
    "headworks_manager",
    "headworks_nstorm",
    "headworks_pipeline",
    "headworks_priority",
    "headworks_sim",
    "headworks_spark",
    "headworks_storm",
)
SOURCES = {package: Path(find_spec(package).origin).parent for package in PACKAGES}
FILES = {
    f"{package}/{path.relative_to(source)}": path
    for package, source in SOURCES.items()
    for path in sorted(source.rglob("*.py"))
    # of the examples only the wheel has a copy here
    if {"java", "examples"}.isdisjoint(path.relative_to(source).parts)
}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}
LABORATORY = "headworks_lab/"
"""Its rooms are programs beside each other, of which each may have its own `Experiment`."""
MODULE_LINES, FUNCTION_LINES = 600, 60
PRIVATE_IMPORTS = 101
"""Exceptions in the contract of the adapters, which only become fewer."""
ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(node):
    return node.end_lineno - node.lineno + 1


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def module_of(name):
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(tree):
    """Names that a module's imports make it need when it is loaded: neither those for types nor those in functions."""
    later = [node for node in ast.walk(tree) if isinstance(node, Function) or for_types(node)]
    inner = {id(each) for node in later for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in inner:
            yield from (name for each in node.names for name in (node.module, f"{node.module}.{each.name}"))
        if isinstance(node, ast.Import) and id(node) not in inner:
            yield from (each.name for each in node.names)


def circle(graph):
    """A module and those by which it needs itself, [] if none does."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return path[path.index(module) :]
        if module not in done:
            path.append(module)
            for each in sorted(graph[module]):
                if found := visit(each):
                    return found
            done.add(path.pop())
        return []

    return next((found for module in sorted(graph) if (found := visit(module))), [])


def test_the_source_is_there():
    counts = Counter(name.split("/")[0] for name in TREES)
    assert counts.keys() == {*PACKAGES}
    assert len(TREES) > 400


def test_no_class_name_is_borne_twice_in_a_package():
    names = Counter(
        (name.split("/")[0], node.name)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not name.startswith(LABORATORY)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_module_needs_itself_by_way_of_others():
    modules = {module_of(name): tree for name, tree in TREES.items()}
    packages = {module_of(name) for name in TREES if name.endswith("/__init__.py")}
    graph = {name: {*imported(tree)} & modules.keys() - packages - {name} for name, tree in modules.items()}
    assert sum(map(len, graph.values())) > 1000
    assert circle(graph) == []
    needing = next(name for name, needed in graph.items() if needed)
    assert needing in circle({**graph, next(iter(graph[needing])): {needing}})


def test_modules_and_functions_are_short():
    long = [name for name, path in FILES.items() if len(path.read_text().splitlines()) > MODULE_LINES]
    long += [
        f"{name}: {node.name}"
        for name, tree in TREES.items()
        for node in functions(tree)
        if lines_of(node) > FUNCTION_LINES
    ]
    assert long == []


def test_an_import_in_a_function_has_its_reason_beside_it():
    bare = []
    for name, path in FILES.items():
        lines = path.read_text().splitlines()
        inner = {
            node.lineno
            for each in functions(TREES[name])
            for node in ast.walk(each)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        begins = [line for line in sorted(inner) if line - 1 not in inner]
        bare += [
            f"{name}:{line}"
            for line in begins
            if "#" not in lines[line - 1] and not lines[line - 2].lstrip().startswith("#")
        ]
    assert bare == []


def test_adapters_take_no_further_private_modules_of_the_core():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (exceptions,) = (each["ignore_imports"] for each in contracts if each["name"].startswith("built-in adapters"))
    assert len(exceptions) <= PRIVATE_IMPORTS
    assert exceptions == sorted({*exceptions})
