# SPDX-License-Identifier: Apache-2.0
"""That the libraries of this machine read each setting of the table, by what they say: a wrong name is noticed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from corescale.declare.catalogue import allocators, elf, settings

ALLOCATING = [sys.executable, "-c", "print()"]
TUNED = [name for name, setting in settings.SETTINGS.items() if setting.allocator == "system"]
ASSIGNMENTS = [(name, level) for name, setting in settings.SETTINGS.items() for level in setting.levels]


def library(name: str) -> Path:
    found = allocators.find(name)
    if found is None:
        pytest.skip(f"{name} is not here")
    return found


def said(words: list[str], **environment: str) -> str:
    done = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout + done.stderr


def under(name: str, words: list[str], /, **environment: str) -> str:
    return said(words, LD_PRELOAD=str(library(name)), **environment)


def tunables(**environment: str) -> dict[str, int]:
    """What the C library makes of its environment."""
    mapped = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    loader = next((path for path in mapped if "/ld-linux" in path), None)  # this process's; other ABIs have others
    if loader is None or settings.glibc() is None or (settings.glibc() or (0, 0)) < (2, 33):
        pytest.skip("this C library lists no tunables")
    listed = said([loader, "--list-tunables"], **environment)
    return {name: int(value, 0) for name, value in re.findall(r"(glibc\.malloc\.\w+): (\w+)", listed)}


ALIASES = {"MALLOC_ARENA_MAX": "glibc.malloc.arena_max", "MALLOC_TRIM_THRESHOLD_": "glibc.malloc.trim_threshold"}


@pytest.mark.parametrize(("name", "level"), [(name, level) for name, level in ASSIGNMENTS if name in TUNED])
def test_glibc_takes_the_value(name: str, level: str) -> None:
    pairs = level if name == "GLIBC_TUNABLES" else f"{ALIASES[name]}={level}"
    wanted = {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs.split(":"))}
    if any((settings.glibc() or (0, 0)) < since for key, since in settings.TUNABLES.items() if key in wanted):
        pytest.skip("a later glibc has it")
    found = tunables(**{name: level})
    assert {key: found.get(key) for key in wanted} == wanted
    unset = tunables(**{f"{name}X": level})
    assert all(unset[key] != value for key, value in wanted.items())


@pytest.mark.parametrize("name", [name for name, s in settings.SETTINGS.items() if s.allocator == "mimalloc"])
def test_mimalloc_takes_the_value(name: str) -> None:
    library("mimalloc")
    if settings.unavailable(settings.SETTINGS[name]):
        pytest.skip("another version's name")
    (level,) = settings.SETTINGS[name].levels
    assert set(_options(**{name: level})) - set(_options())
    assert _options(**{f"{name}X": level}) == _options()


def _options(**environment: str) -> list[str]:
    return re.findall(r"option '(\w+': -?\d+)", under("mimalloc", ALLOCATING, MIMALLOC_VERBOSE="1", **environment))


def test_jemalloc_knows_every_level() -> None:
    for level in settings.SETTINGS["MALLOC_CONF"].levels:
        assert "Invalid conf" not in under("jemalloc", ALLOCATING, MALLOC_CONF=level)
        name, _, value = level.partition(":")
        assert "Invalid conf pair" in under("jemalloc", ALLOCATING, MALLOC_CONF=f"{name}x:{value}")
        assert "Invalid conf value" in under("jemalloc", ALLOCATING, MALLOC_CONF=f"{name}:x")


@pytest.mark.parametrize("name", ["TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"])
def test_tcmalloc_has_the_name(name: str) -> None:
    """It says nothing about what it reads."""
    assert elf.contains(library("tcmalloc"), f"{name}\0".encode())
    assert not elf.contains(library("tcmalloc"), f"{name}X\0".encode())


def test_tbbmalloc_is_asked_for_huge_pages() -> None:
    (level,) = settings.SETTINGS["TBB_MALLOC_USE_HUGE_PAGES"].levels
    assert re.search(
        r"huge pages\s+requested", under("tbbmalloc", ALLOCATING, TBB_VERSION="1", TBB_MALLOC_USE_HUGE_PAGES=level)
    )
    assert re.search(
        r"huge pages\s+not requested", under("tbbmalloc", ALLOCATING, TBB_VERSION="1", TBB_MALLOC_USE_HUGE_PAGE=level)
    )


def test_openmp_takes_the_wait_policy(tmp_path: Path) -> None:
    (tmp_path / "o.c").write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
    subprocess.run(["cc", "-fopenmp", "-o", "o", "o.c"], cwd=tmp_path, check=True)
    for level in settings.SETTINGS["OMP_WAIT_POLICY"].levels:
        shown = said([str(tmp_path / "o")], OMP_DISPLAY_ENV="true", OMP_WAIT_POLICY=level)
        assert f"OMP_WAIT_POLICY = '{level.upper()}'" in shown


HUGE = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
for size in [4 << 20] * 16 + [64 << 20]:
    ctypes.memset(libc.malloc(size), 1, size)
with open("/proc/self/smaps_rollup") as file:
    print("huge", *(line.split()[1] for line in file if line.startswith("AnonHugePages")))
"""


@pytest.mark.parametrize("assignment", [level for level, said in settings.SHORT.items() if said == settings.HUGE])
def test_the_program_has_huge_pages_under_the_level_and_not_without(assignment: str) -> None:
    name, _, level = assignment.partition("=")
    allocator = str(settings.SETTINGS[name].allocator)
    if level not in settings.auto(name)[0] or "[madvise]" not in settings.TRANSPARENT.read_text():
        pytest.skip("the kernel gives none so, or unasked")
    words = [sys.executable, "-c", HUGE]
    shown = [
        (under(allocator, words, **variable) if allocator != "system" else said(words, **variable)).split()[-1]
        for variable in ({name: level}, {f"{name}X": level})
    ]
    assert int(shown[0]) >= 32 << 10
    assert int(shown[1]) == 0


KEEPING = """
import ctypes, resource, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def once():
    held = [libc.malloc(8 << 20) for _ in range(8)]
    for at in held:
        ctypes.memset(at, 1, 8 << 20)
    for at in held:
        libc.free(at)
once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    once()
print("faults", resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_memory_that_is_kept_is_not_paged_in_again() -> None:
    """64 MiB four times are 65536 pages; the default gives them back each time."""
    faults = {
        level: int(said([sys.executable, "-c", KEEPING], GLIBC_TUNABLES=level).split()[-1])
        for level in ("", [*settings.SETTINGS["GLIBC_TUNABLES"].levels][1])
    }
    kept, default = sorted(faults.values())
    assert kept == faults[[*settings.SETTINGS["GLIBC_TUNABLES"].levels][1]]
    assert kept < 1000
    assert default > 10000
