# SPDX-License-Identifier: Apache-2.0
"""The variables that certain kinds of programs read without getenv, so that no read is detected."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from corescale.declare import paths
from corescale.declare.catalogue import elf

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TBB_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
)
"""Set together if the command has no {threads}, so that nested runtimes do not multiply the number of threads."""

OPENMP = frozenset({"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"})
KNOWN = OPENMP | frozenset(THREAD_VARIABLES)
"""Variables that a launch line sets only if the program reads them."""

RANK = frozenset({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
"""Variables that tell a process of a parallel program its rank."""

DETECTED = KNOWN | RANK

PYTHON = frozenset({"OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"})
"""Python's packages read `os.environ`, a copy that is made without getenv."""

GO = b"\xff Go buildinf:"
"""bytes of every program of Go; its runtime reads GOMAXPROCS without getenv, even if it is linked dynamically"""

SCRIPT = 1 << 20
"""largest file, in bytes, that is searched as a script"""


def undetected(argv: Sequence[str], files: Iterable[Path]) -> frozenset[str]:
    """Variables that these programs and their libraries read without getenv, or that a script in `argv` names."""
    found: set[str] = set()
    for file in dict.fromkeys(files):
        found |= _of(file)
    scripts = (_script(word) for word in argv)
    return frozenset(found | {name for text in (*argv, *scripts) for name in DETECTED if name in text})


def undetectable(program: Path) -> bool:
    """Whether env reads of a program may go undetected: those of Go programs and of statically linked ones."""
    return paths.is_file(program) and (elf.static(program) or elf.contains(program, GO))


def _of(file: Path) -> frozenset[str]:
    if re.match(r"lib(gomp|omp|iomp5)\b", file.name):
        return OPENMP  # some versions read `environ` itself
    if re.match(r"python\d", file.name):
        return PYTHON
    if not undetectable(file):
        return frozenset()
    content = file.read_bytes()
    return frozenset(name for name in DETECTED if name.encode() in content)


def _script(word: str) -> str:
    path = Path(word)
    try:
        content = path.read_bytes() if path.is_file() and path.stat().st_size <= SCRIPT else b""
    except (OSError, ValueError):
        return ""
    return "" if content.startswith(b"\x7fELF") else content.decode(errors="replace")
