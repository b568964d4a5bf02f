# SPDX-License-Identifier: Apache-2.0
"""ARCHITECTURE.md is a map of this tree: what it names exists, and every file of the lab has its place in it."""

import re
import subprocess
from pathlib import Path

import pytest

from corescale.declare.metric_sources import WRITTEN
from corescale.declare.programs import WORKLOADS
from corescale.show.exchange import EXPORTERS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
LAB = ("src/corescale", "src/corescale/conclude", "src/corescale/observe")
BASES = ("", *LAB, "runtime", "runtime/include/corescale", "runtime/src/team/systems")
"""Folders that a path in the text may start from."""
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
FILE = re.compile(r"\.(?:py|cpp|hpp|h|md|toml|json|txt)$")


def room_of(line: str, above: list[str]) -> Path:
    """The folder that a line of the map stands in, by its indentation of two blanks a level."""
    depth = (len(line) - len(line.lstrip())) // 2
    return Path(*above[:depth])


def drawn(text: str) -> set[Path]:
    """What the drawings name: the words before two blanks, or before the line's end."""
    named: set[Path] = set()
    above: list[str] = []
    for line in filter(None, "".join(text.split("```")[1::2]).splitlines()):
        names = re.split(r" {2,}", line.strip())[0].split()
        if not all(name.endswith("/") or FILE.search(name) for name in names):
            continue  # the second line of what the line above says
        named |= {room_of(line, above) / name for name in names}
        above[(len(line) - len(line.lstrip())) // 2 :] = [names[0]]
    return named


def written(text: str) -> set[str]:
    """Paths in backticks: with a slash, or a file's name; NAME stands for any."""
    words = {word.strip(",") for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    paths = {word for word in words if PATH.fullmatch(word) and ("/" in word or FILE.search(word))}
    return {path for path in paths if "NAME" not in path}


def exists(path: str) -> bool:
    return any((ROOT / base / path).exists() for base in BASES)


def test_what_the_map_draws_exists() -> None:
    named = drawn(TEXT)
    assert len(named) > 80
    assert not sorted(str(path) for path in named if not (ROOT / path).exists())


def test_what_the_text_names_exists() -> None:
    paths = written(TEXT)
    assert len(paths) > 30
    assert not sorted(path for path in paths if not exists(path))


@pytest.mark.parametrize("room", ["declare", "observe", "conclude", "show", "api", "cli", "."])
def test_every_file_of_the_lab_is_drawn(room: str) -> None:
    folder = ROOT / "src" / "corescale" / room
    here = {path for path in folder.iterdir() if not path.name.startswith("__") and path.name != "py.typed"}
    assert here
    assert not sorted(path.name for path in here if path.relative_to(ROOT) not in drawn(TEXT))


@pytest.mark.parametrize(
    "place", ["workloads", "probe", "tests", "tests/lab", "runtime/include/corescale", "runtime/src"]
)
def test_every_native_room_and_room_of_tests_is_drawn(place: str) -> None:
    here = {path for path in (ROOT / place).iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert here
    assert not sorted(path.name for path in here if path.relative_to(ROOT) not in drawn(TEXT))


ROOMS = ("src", "runtime", "probe", "workloads", "tests", "benchmarks", "scripts")
SOURCES = (".py", ".hpp", ".cpp", ".h", ".c", ".f90", ".sh", ".toml", ".html", ".css", ".js")


def sources() -> list[Path]:
    return [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in SOURCES and p.is_file()]


def test_a_file_of_more_than_300_lines_says_why() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text().splitlines() for path in sources()}
    assert len(lines) > 600
    long = {name: text[0] for name, text in lines.items() if len(text) > 300}
    assert not [name for name, said in long.items() if "more than 300 lines: " not in said]


def test_a_new_source_touches_its_own_room_alone() -> None:
    """Nothing else of the lab names one, but the proof that the witness gives before anything is timed."""
    files = "|".join(path.stem for path in (ROOT / "src/corescale/observe/sources").glob("[a-z]*.py"))
    named = re.compile(rf"observe\.sources(?:\.| import .*\b)(?:{files})\b")
    rooms = [path for path in (ROOT / "src").rglob("*.py") if path.parent.name != "sources"]
    assert len(rooms) > 150
    assert [path.name for path in rooms if named.search(path.read_text())] == ["preload.py"]


def test_every_workload_is_known_by_its_name() -> None:
    """So that doctor lists it, and where it is not built a launch says how it is."""
    assert {*WORKLOADS} == {path.parent.name for path in (ROOT / "workloads").glob("*/main.cpp")}


def test_every_benchmark_is_listed() -> None:
    said = subprocess.run([ROOT / "scripts" / "bench"], capture_output=True, text=True, check=False)
    listed = {line.split()[0] for line in said.stdout.splitlines()[1:]}
    built = "\n".join(path.read_text() for path in (ROOT / "benchmarks" / "runtime").rglob("CMakeLists.txt"))
    programs = {f"runtime/{name}" for name in re.findall(r"add_executable\(bench_(\w+)", built)}
    assert said.returncode == 2
    assert len(programs) > 2
    assert programs < listed


def test_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert len(pages) > 15
    assert not [page for page in pages if f"(docs/{page})" not in readme]


def test_the_map_test_sees_what_is_not_there() -> None:
    assert not exists("src/corescale/dream.py")
    assert drawn("```\nsrc/corescale/\n  show/   what\n    dream.py plot.py  nothing\n```") == {
        Path("src/corescale"),
        Path("src/corescale/show"),
        Path("src/corescale/show/dream.py"),
        Path("src/corescale/show/plot.py"),
    }
    assert written("`observe/dream.py`, `KINDS` and `docs/NAME.md`") == {"observe/dream.py"}


def named_in(file: str, pattern: str) -> list[str]:
    return re.findall(pattern, (ROOT / file).read_text())


@pytest.mark.parametrize(("names", "row", "page"), [
    (named_in("runtime/src/parallel_for/policies.cpp", r'block_policy\{"(\w+)"'), "| `{}` |", "runtime/README.md"),
    (named_in("runtime/src/team/systems/systems.cpp", r'\{"(\w+)"'), "| `{}` |", "runtime/README.md"),
    ([*EXPORTERS], "| `--export-{}` |", "docs/output.md"),
    ([*EXPORTERS], "`{}`", "docs/python.md"),
    ([*WRITTEN], "`{}`", "docs/study.md"),
])  # fmt: skip
def test_each_entry_of_a_table_has_its_place_on_a_page(names: list[str], row: str, page: str) -> None:
    text = (ROOT / page).read_text()
    assert len(names) > 3
    assert not [name for name in names if row.format(name) not in text]
