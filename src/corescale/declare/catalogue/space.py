# SPDX-License-Identifier: Apache-2.0
"""The factors that `tune` tries by default: those that can matter to this program on this machine."""

import os
import shutil
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from corescale.declare import paths
from corescale.declare.catalogue import elf, settings

MOST = 100
"""most configurations; a factor that would exceed this is tried only if asked for"""

USUAL = (
    "threads",
    "allocator",
    "bind",
    "OMP_WAIT_POLICY",
    "numa",
    "GLIBC_TUNABLES",
    "MIMALLOC_ALLOW_LARGE_OS_PAGES",
    "MIMALLOC_LARGE_OS_PAGES",
    "MALLOC_CONF",
    "MIMALLOC_PURGE_DELAY",
    "MIMALLOC_RESET_DELAY",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
    "TBB_MALLOC_USE_HUGE_PAGES",
    "MALLOC_ARENA_MAX",
)
"""Most important first: page faults and returning memory to the kernel cost more than how threads share memory."""

_OPENMP = ("libgomp.so", "libomp.so", "libiomp5.so", "OMP_WAIT_POLICY")
_OF_OPENMP = ("bind", "OMP_WAIT_POLICY")
_TUNABLES = b"glibc.malloc."
"""Bytes in a statically linked program that reads glibc's tunables."""


def usual(
    argv: Sequence[str], unloadable: str, among: Collection[str] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The factors worth trying for this command, and what was left out with the reason.

    `unloadable`: why no library can be preloaded, according to `no_preload` or to a launch of a script. `among`: the
    factors to choose from, by default USUAL.
    """
    program = _program(argv)
    openmp = program is not None and any(elf.contains(program, word.encode()) for word in _OPENMP)
    out: set[str] = set() if openmp else set(_OF_OPENMP)
    left_out = []
    if unloadable:
        left_out.append(f"allocator: {unloadable}")
        out |= {"allocator", "openmp", *_settings(program)}
    if not openmp:
        left_out.append(
            f"bind, OMP_WAIT_POLICY: {argv[0]} is not linked with OpenMP; if it starts one that is: -f bind=auto"
        )
    kept = (name for name in (USUAL if among is None else among) if name not in out and not _unknown(name))
    return tuple(kept), tuple(left_out)


def asking_for(name: str) -> str:
    """The options that ask for a factor of USUAL; for a setting, also the allocator that reads it."""
    allocator = settings.SETTINGS[name].allocator if name in settings.SETTINGS else None
    also = f"-f allocator=system,{allocator} " if allocator not in (None, "system") else ""
    return f"{also}-f {name}=auto"


def stands_alone(name: str) -> bool:
    """Whether a factor has an effect if every other factor is at the baseline."""
    return name not in settings.SETTINGS or settings.SETTINGS[name].allocator in (None, "system")


def _unknown(name: str) -> bool:
    """Whether no allocator on this machine reads this setting. (The factor `allocator` reports missing ones.)"""
    return name in settings.SETTINGS and settings.unavailable(settings.SETTINGS[name]) is not None


def _settings(program: Path | None) -> set[str]:
    """The settings that nothing reads if no allocator can be preloaded into the program."""
    kept = (None, "system") if program is None or _reads_tunables(program) else (None,)
    return {name for name, setting in settings.SETTINGS.items() if setting.allocator not in kept}


def _reads_tunables(program: Path) -> bool:
    return not _secure(program) and (not elf.static(program) or elf.contains(program, _TUNABLES))


def _program(argv: Sequence[str]) -> Path | None:
    found = shutil.which(argv[0])
    return Path(found).resolve() if found and paths.is_file(found) else None


def _secure(program: Path) -> bool:
    """Whether the loader ignores preloads because the program is setuid or setgid."""
    found = program.stat()
    other_user = found.st_mode & stat.S_ISUID and found.st_uid != os.getuid()
    return bool(other_user or (found.st_mode & stat.S_ISGID and found.st_gid != os.getgid()))


SANITIZERS = {
    "libasan.so": "AddressSanitizer",
    "liblsan.so": "LeakSanitizer",
    "libtsan.so": "ThreadSanitizer",
}
"""libraries that must come before any other, as gcc links them"""


def no_preload(argv: Sequence[str]) -> str:
    """Why no allocator can be preloaded into the command, as far as its file shows; empty if one may."""
    name, program = argv[0], _program(argv)
    if program is not None and _secure(program):
        return f"{name} is set-user-id, for which the loader ignores preloads"
    if program is not None and os.access(program, os.R_OK) and elf.static(program):
        return f"{name} is linked statically"
    return sanitized(argv)


def sanitized(argv: Sequence[str]) -> str:
    """Why the program would fail with a preloaded allocator, if it is built with a sanitizer; empty if it is not."""
    program = _program(argv)
    needed = elf.tags(program, "DT_NEEDED") if program else []
    built = next((kind for library, kind in SANITIZERS.items() if any(name.startswith(library) for name in needed)), "")
    return f"{argv[0]} is built with {built}, which brings its own malloc" if built else ""
