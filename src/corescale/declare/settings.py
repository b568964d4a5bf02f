# SPDX-License-Identifier: Apache-2.0
"""The table of environment variables worth trying, a factor each: `-f MALLOC_ARENA_MAX=auto`.

A new setting is one line in SETTINGS. Any other variable is a factor too, with its levels listed.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale.declare import allocators
from corescale.errors import UsageError
from corescale.records import Level

INHERITED = "inherited"
"""The level that leaves a variable, or the allocator, as the shell has it."""
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@dataclass(frozen=True, slots=True)
class Setting:
    """What to try besides the inherited value, which comes first."""

    levels: tuple[str, ...]
    why: str
    allocator: str | None = None
    """of allocators.ALLOCATORS, which alone reads it"""
    since: tuple[int, int] = (0, 0)
    """version of that allocator from which the name is known"""
    until: tuple[int, int] = (999, 0)
    """first version with another name"""
    threaded: bool = False
    """it changes nothing with one thread"""


SETTINGS: dict[str, Setting] = {
    "MALLOC_ARENA_MAX": Setting(("1", "2", "4"), "fewer arenas: less memory, more waiting", "system", threaded=True),
    "MALLOC_TRIM_THRESHOLD_": Setting(("1073741824",), "freed memory stays in the process", "system"),
    "GLIBC_TUNABLES": Setting(
        ("glibc.malloc.hugetlb=1", "glibc.malloc.tcache_count=1000"), "huge pages; deeper thread caches", "system"
    ),
    "MIMALLOC_PURGE_DELAY": Setting(("0", "100", "-1"), "when freed memory goes back", "mimalloc", since=(2, 1)),
    "MIMALLOC_RESET_DELAY": Setting(("0", "1000"), "when freed memory is reset", "mimalloc", until=(2, 1)),
    "MIMALLOC_ALLOW_LARGE_OS_PAGES": Setting(("1",), "large pages", "mimalloc", since=(2, 1)),
    "MIMALLOC_LARGE_OS_PAGES": Setting(("1",), "large pages", "mimalloc", until=(2, 1)),
    "MALLOC_CONF": Setting(
        ("background_thread:true", "dirty_decay_ms:-1", "thp:always"), "who gives memory back, and when", "jemalloc"
    ),
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": Setting(("134217728",), "larger thread caches", "tcmalloc"),
    "OMP_WAIT_POLICY": Setting(("active", "passive"), "whether waiting threads spin or sleep", threaded=True),
}


def auto(name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The levels worth trying here, and what was left out with the reason; raises UsageError for an unknown name."""
    setting = SETTINGS.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, SETTINGS, 1)
        remedy = f"did you mean {near[0]}?" if near else f"list them: -f {name}=a,b"
        raise UsageError(f"no automatic levels for {name}", where="-f", remedy=remedy)
    reason = unavailable(setting)
    return ([INHERITED], [f"{name}: {reason}"]) if reason else ([INHERITED, *_useful(setting)], ())


def idle(name: str, levels: Mapping[str, Level], *, one_thread: bool) -> bool:
    """Whether nothing reads it beside these levels: another allocator is preloaded, or one thread has no use for it."""
    setting = SETTINGS.get(name)
    if setting is None:
        return False
    allocator = levels.get("allocator", INHERITED)
    another = allocator in allocators.ALLOCATORS and setting.allocator not in (None, allocator)
    return another or (setting.threaded and one_thread)


def unavailable(setting: Setting) -> str | None:
    """Why the setting changes nothing on this machine, or None."""
    if setting.allocator in (None, "system"):
        return None
    library = allocators.find(str(setting.allocator))
    if library is None:
        return allocators.absent(str(setting.allocator))
    version = version_of(library.resolve().name)
    if version is None or setting.since <= version < setting.until:
        return None
    return f"{setting.allocator} {version[0]}.{version[1]} has another name for it"


def version_of(library: str) -> tuple[int, int] | None:
    """2.0 of libmimalloc.so.2.0; None where the file's name tells only the interface's."""
    match = re.search(r"\.so\.(\d+)\.(\d+)", library)
    return (int(match[1]), int(match[2])) if match else None


def _useful(setting: Setting) -> list[str]:
    never = HUGE_PAGES.is_file() and "[never]" in HUGE_PAGES.read_text(encoding="utf-8")
    return [level for level in setting.levels if not (never and re.search(r"hugetlb|thp", level))]
