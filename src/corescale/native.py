# SPDX-License-Identifier: Apache-2.0
"""Where the native programs and libraries of this installation are."""

import os
from collections.abc import Iterator
from pathlib import Path

from corescale.errors import UnavailableError

LONGEST = 255
"""most bytes of a file name"""

_PACKAGE = Path(__file__).resolve().parent
_INSTRUMENTED = frozenset({"asan", "tsan"})
"""Builds that are never used to measure."""


def find(name: str) -> Path:
    """The native program `name`, such as corescale-spawn; raises UnavailableError."""
    return _locate(name, ("bin", "workloads/*"), "program")


def library(name: str) -> Path:
    """The native library `name`, such as libcorescale_witness.so; raises UnavailableError."""
    return _locate(name, ("lib",), "library")


def _locate(name: str, places: tuple[str, ...], kind: str) -> Path:
    """The first installed file of that name, else the newest one in a build folder."""
    for path in _candidates(_installed(), places, name):
        return path
    built = list(_candidates(_built(), places, name))
    if not built:
        what = f"the {kind} {name} is not built"
        if not _is_a_source_tree():
            what = f"the {kind} {name} is not in {_PACKAGE}: corescale was installed without its native parts"
        raise UnavailableError(what, remedy=again())
    return max(built, key=lambda path: path.stat().st_mtime_ns)


def again() -> str:
    """How to get native parts of this version."""
    wheel = "install it by its wheel: pip install --force-reinstall corescale"
    return "run scripts/setup" if _is_a_source_tree() else wheel


def _is_a_source_tree() -> bool:
    return (_PACKAGE.parents[1] / "scripts" / "setup").is_file()


def _candidates(roots: list[Path], places: tuple[str, ...], name: str) -> Iterator[Path]:
    for root in roots if len(name) <= LONGEST else ():
        for place in places:
            yield from (path for path in root.glob(f"{place}/{name}") if path.is_file())


def _installed() -> list[Path]:
    """The folder that CORESCALE_NATIVE names, then the package's folder."""
    chosen = os.environ.get("CORESCALE_NATIVE")
    return [Path(chosen).resolve(), _PACKAGE] if chosen else [_PACKAGE]


def _built() -> list[Path]:
    """The build folders of the repository, if this is a source tree."""
    builds = (_PACKAGE.parents[1] / "build").glob("*")
    return [build for build in builds if build.name not in _INSTRUMENTED]
