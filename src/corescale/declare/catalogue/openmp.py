# SPDX-License-Identifier: Apache-2.0
"""The OpenMP runtimes that can replace GCC's in a program, because they also provide its functions."""

import fnmatch
from pathlib import Path

from corescale.declare.catalogue import allocators

RUNTIMES: dict[str, tuple[str, ...]] = {"libomp": ("libomp.so.5", "libomp.so", "libiomp5.so")}
"""File names of each, the preferred first. LLVM's and Intel's are one runtime."""
PACKAGE = "libomp5"
"""package of Debian"""
REPLACED = "libgomp"
"""How the file name of GCC's runtime begins, even if a package contains a copy under a longer name."""


def find(name: str) -> Path | None:
    """The first loadable library of a runtime of the table; None if it is not here."""
    return allocators.find_library(RUNTIMES[name])


def is_runtime(library: Path) -> bool:
    """Whether a library to preload is one of these runtimes, and not an allocator."""
    return any(fnmatch.fnmatchcase(library.name, file) for files in RUNTIMES.values() for file in files)
