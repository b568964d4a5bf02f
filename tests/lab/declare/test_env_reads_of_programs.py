# SPDX-License-Identifier: Apache-2.0
"""Which variables a line sets: those that the program reads, and that the shell does not set so already."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from corescale.declare.catalogue import env_reads, settings
from corescale.declare.factors import Launch, with_thread_variables


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Launch:
    """Two threads by every variable, OpenMP's placement and an allocator's setting, in an empty shell."""
    for name in env_reads.KNOWN:
        monkeypatch.delenv(name, raising=False)
    return with_thread_variables(Launch(("x",)), 2).setting(OMP_PROC_BIND="close", MALLOC_CONF="thp:always")


def test_what_is_not_read_is_not_set(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.needed(None) == launch
    assert launch.needed(["OMP_NUM_THREADS"]).line == "env OMP_NUM_THREADS=2 MALLOC_CONF=thp:always x"
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert launch.needed(["OMP_NUM_THREADS"]).line == "env MALLOC_CONF=thp:always x"


def test_of_an_mpi_program_nothing_more_is_set(launch: Launch) -> None:
    assert launch.needed(["PMIX_RANK"]).line == "env MALLOC_CONF=thp:always x"


@pytest.mark.parametrize(
    ("argv", "files", "found"),
    [
        (("sh", "-c", "x $GOMAXPROCS"), (), {"GOMAXPROCS"}),
        (("sh", "script"), (), {"MKL_NUM_THREADS"}),
        (("x",), ("libgomp.so.1",), env_reads.OPENMP),
        (("x",), ("/usr/bin/python3.11",), env_reads.PYTHON),
        (("x",), ("libgomplex.so",), set()),
    ],
)
def test_what_a_kind_of_program_reads(
    argv: Sequence[str], files: Sequence[str], found: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script").write_text("x -j $MKL_NUM_THREADS")
    assert env_reads.undetected(argv, map(Path, files)) == found


def test_go_reads_gomaxprocs_however_it_is_linked(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF..." + env_reads.GO + b"...GOMAXPROCS...")
    (tmp_path / "another").write_bytes(b"\x7fELF...GOMAXPROCS...")
    assert env_reads.undetected(["x"], [tmp_path / "program"]) == {"GOMAXPROCS"}
    assert not env_reads.undetected(["x"], [tmp_path / "another"])


def test_no_two_settings_of_an_allocator_have_the_same_short_name() -> None:
    every = [
        (setting.allocator, setting.versions, settings.short(name, level))
        for name, setting in settings.SETTINGS.items()
        for level in setting.levels
    ]
    assert len(set(every)) == len(every)
    assert {*settings.SHORT} <= {f"{name}={level}" for name, s in settings.SETTINGS.items() for level in s.levels}
