"""Limits that keep the code readable, checked by machine: layers, file and function length."""

import ast
import shutil
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from analyzer.vocabulary.frameworks import family, frameworks

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "analyzer").rglob("*.py"))


@cache
def tree_of(path):
    """The syntax tree of a file, which several tests look at."""
    return ast.parse(path.read_text(encoding="utf-8"))


def test_layers_hold():
    lint_imports = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if lint_imports is None:
        pytest.skip("import-linter is not installed (extra: dev)")
    result = subprocess.run([lint_imports], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def _is_for_annotations(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(path, modules):
    """Modules that one imports, also late, but not for its annotations only."""
    for node in [
        node for part in tree_of(path).body if not _is_for_annotations(part) for node in ast.walk(part)
    ]:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


TRACKERS = ("clearml", "comet", "mlflow", "neptune", "swanlab", "tensorboard", "trackio", "wandb")
TELLS_OF_FRAMEWORKS = {
    "known_versions.py": "packages whose versions have known defects",
    "model_families.py": "published models by name, one of which a library is called after",
    "settings.py": "packages whose versions are told",
    "run_course.py": "its facts are whether DeepSpeed, HF Trainer and Unsloth were at work",
}


def words_in_detectors():
    """Every constant of one word in a detector: its file, its place, the word."""
    for path in (ROOT / "analyzer" / "detect").rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and " " not in node.value.strip()
            ):
                yield path.name, f"{path.name}:{node.lineno}: {node.value}", node.value


def test_no_detector_knows_how_a_tracker_names_things():
    named = [at for _, at, text in words_in_detectors() if any(word in text.lower() for word in TRACKERS)]

    assert named == []


def test_no_detector_knows_a_framework_by_its_name():
    ours = frameworks() - family("own-words") - family("place") - {"config"}
    named = [
        at
        for file, at, text in words_in_detectors()
        if text.lower() in ours and file not in TELLS_OF_FRAMEWORKS
    ]

    assert named == [], "what it does is a habit, declared in vocabulary/frameworks.yaml"


def test_no_module_imports_itself_by_way_of_others():
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCES
    }
    graph = {name: set(imported(path, modules)) - {name} for name, path in modules.items()}

    assert list(TopologicalSorter(graph).static_order())  # or it raises, with the circle


def test_no_file_is_over_500_lines():
    paths = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "samples" / "make").glob("*.py")]
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}

    assert {path: length for path, length in lengths.items() if length > 500} == {}


def test_no_function_is_over_50_lines():
    long = [
        f"{path}: {node.name}: {length}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and (length := _body_length(node)) > 50
    ]

    assert long == []


def test_no_folder_holds_more_than_25_files():
    files = [*(ROOT / "analyzer").rglob("*"), *(ROOT / "tests").rglob("*")]
    folders = {path.parent for path in files if path.suffix in {".py", ".yaml", ".txt"}}
    counts = {folder: sum(path.is_file() for path in folder.iterdir()) for folder in folders}

    assert {str(folder): count for folder, count in counts.items() if count > 25} == {}


def _body_length(node):
    """Lines of a function without its docstring and signature."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return 0 if not body else body[-1].end_lineno - body[0].lineno + 1


def test_no_module_unpickles_evaluates_or_loads_unsafe_yaml():
    forbidden = {"eval", "exec", "compile", "__import__"}
    makes_constructors = {"record.py"}  # of the names of fields, as the standard library does
    found = []
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            calls = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if calls and node.func.id in forbidden and path.name not in makes_constructors:
                found.append(f"{path.name}:{node.lineno} {node.func.id}")
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                found += [
                    f"{path.name}:{node.lineno} {n}"
                    for n in names
                    if n in {"pickle", "marshal", "shelve", "dill"}
                ]
            if (
                isinstance(node, ast.Attribute)
                and node.attr.endswith("load")
                and ast.unparse(node.value) == "yaml"
            ):
                found.append(f"{path.name}:{node.lineno} yaml.{node.attr}")

    assert found == []
