"""The shape of the packages' source, read from its syntax trees: names, sizes, docstrings and imports."""

import ast
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = (
    "headworks",
    "headworks_baselines",
    "headworks_dstorm",
    "headworks_exact",
    "headworks_hetero",
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
MODULE_LINES, FUNCTION_LINES = 400, 60
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(node):
    return node.end_lineno - node.lineno + 1


def public(node, prefix=""):
    """Public classes and functions below a node, with their dotted names; what a function defines inside is its own."""
    for each in getattr(node, "body", ()):
        if isinstance(each, Function | ast.ClassDef) and not each.name.startswith("_"):
            yield f"{prefix}{each.name}", each
            if isinstance(each, ast.ClassDef):
                yield from public(each, f"{prefix}{each.name}.")


def test_the_source_is_there():
    assert len(TREES) > 80


@pytest.mark.parametrize("package", PACKAGES)
def test_no_class_name_is_borne_twice_in_a_package(package):
    trees = [tree for name, tree in TREES.items() if name.startswith(f"{package}/")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def module_of(name):
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(tree):
    """Names that a module's imports make it need, those for types included; those in functions are not."""
    inner = {id(each) for node in ast.walk(tree) if isinstance(node, Function) for each in ast.walk(node)}
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


def test_no_module_needs_itself_by_way_of_others():
    modules = {module_of(name): tree for name, tree in TREES.items()}
    packages = {module_of(name) for name in TREES if name.endswith("/__init__.py")}
    graph = {name: {*imported(tree)} & modules.keys() - packages - {name} for name, tree in modules.items()}
    assert len(graph["headworks.problem.plan.problem"]) > 3
    assert circle(graph) == []
    assert circle({**graph, "headworks.problem.arrays.arrays": {"headworks.problem.plan.problem"}})[0] in graph


@pytest.mark.parametrize("path", TREES)
def test_modules_and_functions_are_short(path):
    assert len(FILES[path].read_text().splitlines()) <= MODULE_LINES
    functions = [node for node in ast.walk(TREES[path]) if isinstance(node, Function)]
    assert [node.name for node in functions if lines_of(node) > FUNCTION_LINES] == []


@pytest.mark.parametrize("path", TREES)
def test_what_is_public_has_a_docstring(path):
    tree = TREES[path]
    bare = [] if ast.get_docstring(tree) or not tree.body else ["the module"]
    assert bare + [name for name, node in public(tree) if not ast.get_docstring(node)] == []


PLAIN = {"cache", "classmethod", "contextmanager", "staticmethod"}
"""Decorators of functions whose callers are code; of commands, hooks and rules, somebody else says what is given."""


def called_by_code(function):
    names = {ast.unparse(each).split("(")[0].rsplit(".", 1)[-1] for each in function.decorator_list}
    return isinstance(function, Function) and names <= PLAIN


def parameters(function):
    own = function.args
    named = [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
    return [name for name in named if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize("path", TREES)
def test_several_parameters_are_described(path):
    several = [(name, node) for name, node in public(TREES[path]) if called_by_code(node) and len(parameters(node)) > 1]
    assert [name for name, node in several if "Args:" not in (ast.get_docstring(node) or "")] == []


@pytest.mark.parametrize("path", TREES)
def test_no_docstring_begins_with_a_question(path):
    nodes = [each for each in ast.walk(TREES[path]) if isinstance(each, Function | ast.ClassDef | ast.Module)]
    first = [(ast.get_docstring(node) or "").split(" ", 1)[0] for node in nodes]
    assert {"What", "How", "Where", "Whether", "Which", "When", "Who", "Why"}.isdisjoint(first)


@pytest.mark.parametrize("path", TREES)
def test_an_import_in_a_function_has_its_reason_beside_it(path):
    lines = FILES[path].read_text().splitlines()
    functions = [node for node in ast.walk(TREES[path]) if isinstance(node, Function)]
    inner = {n.lineno for each in functions for n in ast.walk(each) if isinstance(n, ast.Import | ast.ImportFrom)}
    begins = [line for line in sorted(inner) if line - 1 not in inner]
    assert [
        line for line in begins if "#" not in lines[line - 1] and not lines[line - 2].lstrip().startswith("#")
    ] == []
