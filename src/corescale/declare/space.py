# SPDX-License-Identifier: Apache-2.0
"""What `tune` tries when nothing is named: the factors that can matter to this program on this machine."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from corescale.declare import elf

MOST = 100
"""configurations; a factor that would make more of them is left to be asked for"""

USUAL = ("threads", "allocator", "bind", "OMP_WAIT_POLICY", "MALLOC_ARENA_MAX")
"""Most important first."""

_OPENMP = ("libgomp.so", "libomp.so", "libiomp5.so", "OMP_WAIT_POLICY")
_OF_OPENMP = ("bind", "OMP_WAIT_POLICY")


def usual(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The factors worth trying for this command, and what was left out with the reason."""
    program = _program(argv)
    preload = program is None or _why_no_preload(program)
    openmp = program is not None and any(elf.contains(program, word.encode()) for word in _OPENMP)
    left_out = []
    if isinstance(preload, str):
        left_out.append(f"allocator: {argv[0]} {preload}")
    if not openmp:
        left_out.append(
            f"bind, OMP_WAIT_POLICY: {argv[0]} is not linked with OpenMP; if it starts what is: -f bind=auto"
        )
    kept = [name for name in USUAL if openmp or name not in _OF_OPENMP]
    return tuple(name for name in kept if name != "allocator" or not isinstance(preload, str)), tuple(left_out)


def _program(argv: Sequence[str]) -> Path | None:
    found = shutil.which(argv[0])
    return Path(found).resolve() if found else None


def _why_no_preload(program: Path) -> str | None:
    if program.stat().st_mode & 0o6000:
        return "is set-user-id, for which the loader ignores preloads"
    return "is linked statically" if os.access(program, os.R_OK) and elf.static(program) else None
