# SPDX-License-Identifier: Apache-2.0
"""The table of variables that have automatic levels. Each variable can be a factor: `-f MALLOC_ARENA_MAX=auto`. For any
other variable, the user lists the levels."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale.declare.catalogue import allocators
from corescale.errors import UsageError, nearest
from corescale.records import INHERITED, Level

TRANSPARENT = Path("/sys/kernel/mm/transparent_hugepage/enabled")
RESERVED = Path("/proc/sys/vm/nr_hugepages")

Version = tuple[int, int]
_ALL: tuple[tuple[Version, Version], ...] = (((0, 0), (999, 0)),)
_PURGING: tuple[tuple[Version, Version], ...] = (((1, 8), (2, 0)), ((2, 1), (999, 0)))
"""versions of mimalloc that purge; earlier versions reset instead, and 2.0 still uses the old name of the setting"""
_RESETTING: tuple[tuple[Version, Version], ...] = (((0, 0), (1, 8)), ((2, 0), (2, 1)))
HUGE = "huge-pages"
_ADVISED = frozenset({"madvise"})
_KEEP = "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824"
"""The highest threshold that glibc accepts. Setting one of the two stops the adaptation of both, so both are set."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable that may be worth setting."""

    levels: Mapping[str, str]
    """the levels to try after the inherited value, each with its name in tables; an empty name shows `NAME=level`"""
    allocator: str | None = None
    """name in allocators.ALLOCATORS of the only allocator that reads it"""
    versions: tuple[tuple[Version, Version], ...] = _ALL
    """versions of that allocator that know the name, as ranges from the first (inclusive) to the second (exclusive)"""
    threaded: bool = False
    """whether it changes nothing with one thread"""
    pages: frozenset[str] = frozenset()
    """the kernel's huge-page settings under which the level HUGE has an effect: under `always`, it has little"""


SETTINGS: dict[str, Setting] = {
    "MALLOC_ARENA_MAX": Setting({"1": "", "2": "", "4": ""}, "system", threaded=True),
    "MALLOC_TRIM_THRESHOLD_": Setting({"1073741824": "keep-small-blocks"}, "system"),
    "GLIBC_TUNABLES": Setting({"glibc.malloc.hugetlb=1": HUGE, _KEEP: "keep-memory"}, "system", pages=_ADVISED),
    "MIMALLOC_PURGE_DELAY": Setting({"-1": "keep-memory"}, "mimalloc", _PURGING),
    "MIMALLOC_RESET_DELAY": Setting({"10000": "keep-memory-10s"}, "mimalloc", _RESETTING),
    "MIMALLOC_ALLOW_LARGE_OS_PAGES": Setting({"1": HUGE}, "mimalloc", _PURGING, pages=_ADVISED | {"reserved"}),
    "MIMALLOC_LARGE_OS_PAGES": Setting({"1": HUGE}, "mimalloc", _RESETTING, pages=_ADVISED | {"reserved"}),
    "MALLOC_CONF": Setting(
        {"thp:always": HUGE, "dirty_decay_ms:-1": "keep-memory", "background_thread:true": "background-thread"},
        "jemalloc",
        pages=_ADVISED,
    ),
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": Setting({"134217728": "large-caches"}, "tcmalloc"),
    "TBB_MALLOC_USE_HUGE_PAGES": Setting({"1": HUGE}, "tbbmalloc", pages=frozenset({"always", "reserved"})),
    "OMP_WAIT_POLICY": Setting({"active": "", "passive": ""}, threaded=True),
}
"""tcmalloc gets huge pages only from a mounted hugetlbfs; for that, set TCMALLOC_MEMFS_MALLOC_PATH by hand."""

SHORT = {
    f"{name}={level}": said for name, setting in SETTINGS.items() for level, said in setting.levels.items() if said
}
"""Names of levels in tables and charts. Together with the allocator that reads them, they are unique."""

TUNABLES = {"glibc.malloc.hugetlb": (2, 35)}
"""the first version of glibc that knows a name, if it is later than 2.26"""


def auto(name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The levels worth trying here, and what was left out with the reason; raises UsageError for an unknown name."""
    setting = SETTINGS.get(name)
    if setting is None:
        remedy = nearest(name, SETTINGS, f"list them: -f {name}=a,b")
        raise UsageError(f"no automatic levels for {name}", where="-f", remedy=remedy)
    if reason := unavailable(setting):
        return [INHERITED], [f"{name}: {reason}"]
    useless = {level: why for level in setting.levels if (why := _useless(setting, level))}
    kept = [level for level in setting.levels if level not in useless]
    return [INHERITED, *kept], [f"{name}={level}: {why}" for level, why in useless.items()]


def idle(name: str, levels: Mapping[str, Level], *, one_thread: bool) -> bool:
    """Whether the setting has no effect at these levels, because another allocator is preloaded or there is one thread.

    The allocator's level is its name, even if it is inherited.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        return False
    allocator = levels.get("allocator")
    another = allocator in allocators.ALLOCATORS and setting.allocator not in (None, allocator)
    return another or (setting.threaded and one_thread)


def short(name: str, level: Level) -> str:
    """`huge-pages` for a level that has a name in SHORT, else `NAME=level`."""
    return SHORT.get(f"{name}={level}", f"{name}={level}")


def unavailable(setting: Setting) -> str | None:
    """Why nothing on this machine reads the setting, or None."""
    if setting.allocator in (None, "system"):
        return None
    library = allocators.find(str(setting.allocator))
    if library is None:
        return allocators.absent(str(setting.allocator))
    version = version_of(library.resolve().name)
    if version is None or any(since <= version < until for since, until in setting.versions):
        return None
    return f"{setting.allocator} {version[0]}.{version[1]} has another name for it"


def version_of(library: str) -> Version | None:
    """The version in a library's file name, such as 2.0 of libmimalloc.so.2.0; None if it has one number only."""
    match = re.search(r"\.so\.(\d+)\.(\d+)", library)
    return (int(match[1]), int(match[2])) if match else None


def glibc() -> Version | None:
    """The version of the C library; None if it is another."""
    match = re.match(r"glibc (\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    return (int(match[1]), int(match[2])) if match else None


def _useless(setting: Setting, level: str) -> str | None:
    """Why the level changes nothing here, or None."""
    if setting.levels[level] == HUGE and not setting.pages & huge_pages():
        return f"the kernel gives no huge pages that way (it would with {' or '.join(sorted(setting.pages))})"
    version = glibc()
    late = [name for name, since in TUNABLES.items() if name in level and version and version < since]
    return f"glibc {version[0]}.{version[1]} has no {late[0]}" if late and version else None


def huge_pages() -> set[str]:
    """How this kernel provides huge pages: any of "always", "madvise", "reserved"."""
    said = _read(TRANSPARENT)
    return {mode for mode in ("always", "madvise") if f"[{mode}]" in said} | (
        {"reserved"} if _read(RESERVED) not in ("", "0") else set()
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""
