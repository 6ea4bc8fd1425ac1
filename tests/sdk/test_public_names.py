"""The names that a plugin's or an adapter's author may rely on: `public_names.txt` holds them, a line a module.

A change of these names changes that file with it.
"""

import ast
import importlib
from pathlib import Path

import headworks

HERE = Path(__file__).parent
PUBLIC = (
    "headworks",
    "headworks.documents",
    "headworks.errors",
    "headworks.hooks",
    "headworks.model",
    "headworks.model.rates",
    "headworks.model.scaling",
    "headworks.problem",
    "headworks.problem.arrays.constraints",
    "headworks.problem.rules.domain_counts",
    "headworks.problem.arrays.profiles",
    "headworks.problem.room.room",
    "headworks.problem.arrays.workers",
    "headworks.problem.plan.close",
    "headworks.testing",
    "headworks.toolbox.best_response",
    "headworks.toolbox.cancel",
    "headworks.toolbox.graph",
    "headworks.toolbox.holding",
    "headworks.toolbox.instance_counts",
    "headworks.toolbox.move_limit",
    "headworks.toolbox.node_cost",
    "headworks.toolbox.repair",
    "headworks.toolbox.scoring",
    "headworks.toolbox.whole",
)


def names_of(module):
    """Those of `__all__`; without one, what the module itself defines and does not begin with an underscore."""
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return sorted(found.__all__)
    names = []
    for each in ast.parse(Path(found.__file__).read_text()).body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef):
            names.append(each.name)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            target = each.targets[0] if isinstance(each, ast.Assign) else each.target
            names.append(target.id)
    return sorted(name for name in names if not name.startswith("_") and len(name) > 1)


def test_public_names_are_those_written_down():
    written = dict(line.split(": ") for line in (HERE / "public_names.txt").read_text().splitlines())
    assert {module: " ".join(names_of(module)) for module in PUBLIC} == written


def test_built_in_plugins_import_public_modules_only():
    plugins = Path(headworks.__file__).parents[2] / "plugins"
    if not plugins.is_dir():  # an installed wheel: the packages lie side by side
        plugins = Path(headworks.__file__).parents[1]
    files = [file for file in plugins.glob("headworks_*/**/*.py") if file.relative_to(plugins).parts[0] in BUILT_IN]
    assert len(files) > 50
    strangers = {
        (str(file.relative_to(plugins)), each.module)
        for file in files
        for each in ast.walk(ast.parse(file.read_text()))
        if isinstance(each, ast.ImportFrom) and (each.module or "").split(".")[0] == "headworks"
        if each.module not in PUBLIC
    }
    assert strangers == set()


BUILT_IN = {f"headworks_{name}" for name in ("baselines", "dstorm", "exact", "hetero", "nstorm", "priority")}
