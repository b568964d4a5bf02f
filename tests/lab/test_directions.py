# SPDX-License-Identifier: Apache-2.0
"""Includes and imports point to an earlier stage only, on both sides of the house."""

import ast
import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAB = ROOT / "src" / "corescale"

PYTHON_STAGES = ("declare", "observe", "conclude", "show", "api", "cli")
# What a room may import: conclude reads what was declared, never how it was observed.
MAY_IMPORT = {
    "declare": {"declare"},
    "observe": {"declare", "observe"},
    "conclude": {"declare", "conclude"},
    "show": {"declare", "conclude", "observe", "show"},
    "api": set(PYTHON_STAGES) - {"cli"},
    "cli": set(PYTHON_STAGES),
}
CPP_ROOMS = {
    "runtime/include/corescale/machine": set(),
    "runtime/include/corescale/team": {"machine"},
    "runtime/include/corescale/parallel_for": {"machine", "team"},
    "runtime/include/corescale/memory": {"machine"},
    "runtime/include/corescale/tape": {"machine", "memory"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]corescale/([a-z_]+)/', re.MULTILINE)


def imports(source: str) -> set[str]:
    """The corescale modules that a module imports, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "corescale"}


def rooms(source: str) -> set[str]:
    return {parts[1] for name in imports(source) if len(parts := name.split(".")) > 1 and parts[1] in PYTHON_STAGES}


@pytest.mark.parametrize("room", PYTHON_STAGES)
def test_python_imports_point_to_earlier_stages(room: str) -> None:
    files = sorted((LAB / room).rglob("*.py"))
    assert files
    wrong = {str(file.relative_to(LAB)): bad for file in files if (bad := rooms(file.read_text()) - MAY_IMPORT[room])}
    assert not wrong


MODULES = {
    ".".join(("corescale", *path.relative_to(LAB).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in LAB.rglob("*.py")
}


def loaded(source: str) -> set[str]:
    """The modules that a module names in an import, within functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            each = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in each}
    return found & MODULES.keys()


def folder(module: str) -> str:
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def in_order(graph: Mapping[str, Iterable[str]]) -> bool:
    """Raises CycleError for what leads back to itself."""
    return len(list(TopologicalSorter(graph).static_order())) >= len(graph)


def test_no_file_and_no_folder_leads_back_to_itself() -> None:
    """A folder and the one that it lies in are one here, as its `__init__` and its files are. The package itself names
    its parts for other programs alone."""
    files = {name: loaded(path.read_text()) - {name} for name, path in MODULES.items() if name != "corescale"}
    assert len(files) > 200 and in_order(files)
    folders: dict[str, set[str]] = {}
    for name, those in files.items():
        here = folder(name)
        beside = {there for there in map(folder, those) if not f"{here}.".startswith(f"{there}.")}
        folders.setdefault(here, set()).update(there for there in beside if not there.startswith(f"{here}."))
    assert in_order(folders)


def test_a_circle_is_seen() -> None:
    assert loaded("from corescale.show import text\ndef f():\n    from corescale.show import plot\n") == {
        "corescale.show.text", "corescale.show.plot"
    }  # fmt: skip
    with pytest.raises(CycleError):
        in_order({"corescale.show.charts": {"corescale.show.html"}, "corescale.show.html": {"corescale.show.charts"}})


def test_leaves_import_no_room() -> None:
    """But the two that are the package for others: `__init__` imports for type checkers alone (tests/lab/api)."""
    files = [file for file in LAB.glob("*.py") if file.name not in ("__main__.py", "__init__.py")]
    assert files
    assert not {file.name: bad for file in files if (bad := rooms(file.read_text()))}


def test_only_cli_exits_and_prints() -> None:
    pattern = re.compile(r"\bsys\.exit\(|\braise SystemExit|\bos\._exit\(|^\s*print\(", re.MULTILINE)
    # region.py runs in the measured program, and says at its exit what it could not write.
    files = [f for f in LAB.rglob("*.py") if "cli" not in f.relative_to(LAB).parts and f != LAB / "region.py"]
    assert not [str(file.relative_to(LAB)) for file in files if pattern.search(file.read_text())]
    assert not [str(file.relative_to(LAB)) for file in files if "sys.stdout" in names(file.read_text())]


def names(source: str) -> set[str]:
    """The dotted names in a module, without those in texts."""
    return {ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}


def test_no_test_file_imports_another() -> None:
    """What tests share lies in support/."""
    files = sorted((ROOT / "tests" / "lab").rglob("test_*.py"))
    assert len(files) > 30
    pattern = re.compile(r"^\s*(?:from|import) +(?:\w+\.)*test_", re.MULTILINE)
    assert not [file.name for file in files if pattern.search(file.read_text())]


@pytest.mark.parametrize("room", CPP_ROOMS)
def test_includes_point_to_earlier_rooms(room: str) -> None:
    own = Path(room).name
    files = [*(ROOT / room).rglob("*.hpp"), *(ROOT / "runtime" / "src" / own).rglob("*.[ch]pp")]
    assert files, "an empty room proves nothing"
    allowed = CPP_ROOMS[room] | {own}
    assert not {f.name: bad for f in files if (bad := set(INCLUDE.findall(f.read_text())) - allowed)}


def test_runtime_needs_no_other_room() -> None:
    files = [file for file in (ROOT / "runtime").rglob("*") if file.suffix in (".hpp", ".h", ".cpp")]
    assert files
    pattern = re.compile(r'#\s*include\s*[<"](?:\.\./|probe/|workloads/)')
    assert not [file.name for file in files if pattern.search(file.read_text())]


def test_the_direction_test_sees_a_wrong_import() -> None:
    assert rooms("from corescale.show.terminal import table") - MAY_IMPORT["conclude"] == {"show"}
    assert set(INCLUDE.findall("#include <corescale/tape/tape.hpp>")) - CPP_ROOMS[
        "runtime/include/corescale/memory"
    ] == {"tape"}
