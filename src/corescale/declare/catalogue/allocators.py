# SPDX-License-Identifier: Apache-2.0
"""The table of memory allocators, and how each is found on this machine. Other allocators are given by their paths."""

import fnmatch
import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corescale import native
from corescale.declare import paths
from corescale.declare.catalogue import elf
from corescale.errors import UnavailableError, UsageError, nearest


@dataclass(frozen=True, slots=True)
class Allocator:
    """What to look for, and how to get it."""

    libraries: tuple[str, ...]
    """file names that may be preloaded, the preferred first; * matches anything"""
    package: str | None
    """package of Debian; None if it has none"""


ALLOCATORS: dict[str, Allocator] = {
    "system": Allocator((), None),
    "mimalloc": Allocator(("libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so*"), "libmimalloc2.0"),
    "jemalloc": Allocator(("libjemalloc.so.2", "libjemalloc.so*"), "libjemalloc2"),
    "tcmalloc": Allocator(
        ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so*", "libtcmalloc.so*"),
        "libtcmalloc-minimal4",
    ),
    "tbbmalloc": Allocator(("libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so*"), "libtbbmalloc2"),
    "scudo": Allocator(
        ("libclang_rt.scudo_standalone*.so", "libclang_rt.scudo-*.so", "libscudo.so*"), "libclang-rt-14-dev"
    ),
    "snmalloc": Allocator(("libsnmallocshim.so*",), None),
    "hoard": Allocator(("libhoard.so*",), None),
    "corescale": Allocator(("libcorescale_malloc.so",), None),
}
"""`system` is the C library's own. tbbmalloc is preloaded by its proxy, because the library itself replaces nothing.
`corescale` is ours, and is among the native parts of this installation."""


def locate(name_or_path: str) -> Path:
    """The library to preload. Raises UsageError if it is not a library, UnavailableError if it is not here."""
    name = name_or_path.lower()
    if "/" in name_or_path or ".so" in name_or_path:
        return _by_path(Path(name_or_path))
    if name not in ALLOCATORS:
        remedy = nearest(name, ALLOCATORS, f"write {', '.join(ALLOCATORS)} or the path of a .so file")
        raise UsageError(f"unknown allocator {name_or_path!r}", where="allocator", remedy=remedy)
    if not ALLOCATORS[name].libraries:
        raise UsageError(f"{name} is not a library to preload", where="allocator", remedy="name another allocator")
    found = find(name)
    if found is None:
        raise UnavailableError(f"{name} was not found here", where="allocator", remedy=remedy_for(name))
    return found


def find(name: str) -> Path | None:
    """The first loadable library of an allocator of the table; None if there is none (as for `system`)."""
    return find_library(ALLOCATORS[name].libraries)


def find_library(patterns: tuple[str, ...]) -> Path | None:
    """The first loadable library with one of these file names: an earlier name wins over an earlier place."""
    places = tuple(_folders())
    candidates = (path for pattern in patterns for path in _matches(pattern, places))
    return next((path for path in candidates if elf.refusal(path) is None), None)


def inherited() -> str | None:
    """Which allocator of the table this process's LD_PRELOAD names; None if it names no known one."""
    return named_in(os.environ.get("LD_PRELOAD", ""))


def named_in(preload: str) -> str | None:
    """Which allocator of the table a value of LD_PRELOAD names; None if it names no known one."""
    files = [Path(word).name for word in re.split(r"[:\s]+", preload)]
    named = (name for name, each in ALLOCATORS.items() for file in files for pattern in each.libraries
             if fnmatch.fnmatchcase(file, pattern))  # fmt: skip
    return next(named, None)


def means(level: object, name: object) -> bool:
    """Whether a level is that allocator: by its name, or by the path of its library."""
    return str(level) == str(name) or ("/" in str(level) and named_in(str(level)) == name)


def replaced(preload: str, library: str | None) -> str | None:
    """A value of LD_PRELOAD with `library` (None: the C library's own) in place of its known allocators, or in front if
    there is none. All else stays, in its order. None if nothing is left.
    """
    words = [word for word in re.split(r"[:\s]+", preload) if word]
    others = [word for word in words if named_in(word) is None]
    front = next((place for place, word in enumerate(words) if named_in(word)), 0)
    return ":".join([*others[:front], *([library] if library else []), *others[front:]]) or None


def absent(name: str) -> str:
    """One line on an allocator that is not here, and how to get it."""
    return f"{name}: not found here ({remedy_for(name)})"


def remedy_for(name: str) -> str:
    """How to get an allocator of the table."""
    package = ALLOCATORS[name].package
    if name == "corescale":
        return "it comes with corescale's native parts: run scripts/setup, or install the wheel"
    return f"apt-get install {package}" if package else f"Debian has no package: build {name} and give its path"


def _by_path(path: Path) -> Path:
    reason = "no such file" if not paths.exists(path) else elf.refusal(path)
    if reason is None and not elf.defined(path, ["malloc"], ".dynsym"):
        reason = "a library without malloc"
    if any(c.isspace() or c == ":" for c in str(path.absolute())):
        reason = "a blank or colon in its path, which LD_PRELOAD cannot carry"
    if reason is not None:
        raise UsageError(f"{reason}: {path}", where="allocator", remedy="give the path of the allocator's .so file")
    return path.resolve() if path.is_symlink() else path.absolute()


def _matches(pattern: str, folders: tuple[Path, ...]) -> Iterator[Path]:
    for folder in folders:
        if "*" in pattern:
            yield from sorted(folder.glob(pattern), key=lambda path: len(path.name))
        elif (folder / pattern).is_file():
            yield folder / pattern


def _folders() -> Iterator[Path]:
    """The folders of LD_LIBRARY_PATH, corescale's own, ld.so's others in its order, clang's runtimes; each once."""
    asked = [Path(text) for text in os.environ.get("LD_LIBRARY_PATH", "").split(":") if text]
    triplet = f"{platform.machine()}-linux-gnu"
    standard = [Path(f"{base}/{place}") for place in (triplet, "../lib64", "") for base in ("/usr/lib", "/lib")]
    local = [Path("/usr/local/lib") / triplet, Path("/usr/local/lib"), Path("/usr/local/lib64")]
    seen: set[Path] = set()
    for folder in [*asked, *_own_folder(), *_ldconfig_folders(), *standard, *local, *_clang_folders()]:
        real = folder.resolve()
        if real not in seen and real.is_dir():
            seen.add(real)
            yield real


@functools.cache
def _ldconfig_folders() -> tuple[Path, ...]:
    program = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        return ()
    try:
        done = subprocess.run([program, "-p"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()
    return ldconfig_folders(done.stdout)


def ldconfig_folders(listing: str) -> tuple[Path, ...]:
    """The folders that `ldconfig -p` names, each once."""
    paths = re.findall(r" => (/.+)$", listing, re.MULTILINE)
    return tuple(dict.fromkeys(Path(path).parent for path in paths))


def _clang_folders() -> list[Path]:
    """The folders of clang's runtimes, the newest clang first."""
    patterns = ("usr/lib/llvm-*/lib/clang/*/lib/*", "usr/lib/clang/*/lib/*", "usr/lib64/clang/*/lib/*")
    found = [path for pattern in patterns for path in Path("/").glob(pattern)]
    return sorted(found, key=lambda path: [int(one) for one in re.findall(r"\d+", str(path.parent))], reverse=True)


def _own_folder() -> list[Path]:
    """The folder of corescale's own libraries; empty if its native parts are missing."""
    try:
        return [native.library("libcorescale_malloc.so").parent]
    except UnavailableError:
        return []
