# SPDX-License-Identifier: Apache-2.0
"""Whether a file can be preloaded into a program: checks what ld.so would check, without loading the file."""

import re
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_DT_FLAGS_1
from elftools.elf.sections import SymbolTableSection


def refusal(path: Path) -> str | None:
    """Why `path` cannot be preloaded into programs of this machine, or None if it can."""
    try:
        seen = path.stat()
        return _refusal(path, (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns))
    except OSError as error:
        return (error.strerror or "cannot be read").lower()


@cache
def _refusal(path: Path, _seen: tuple[int, ...]) -> str | None:
    """The same, read once for each state of a file. Raises OSError if it cannot be read."""
    try:
        with path.open("rb") as file:
            found = ELFFile(file)
            flags = (tag.entry.d_val for tag in _dynamic(found, "DT_FLAGS_1"))
            executable = any(value & ENUM_DT_FLAGS_1["DF_1_PIE"] for value in flags)
            if found["e_type"] != "ET_DYN" or executable:
                return "an executable or object file, no shared object"
            target = _target(found)
    except (ELFError, ValueError):
        return "no shared object"
    return None if target == _native() else "a shared object for another kind of machine"


def static(path: Path) -> bool:
    """Whether it is a statically linked executable, into which nothing can be preloaded."""
    try:
        with path.open("rb") as file:
            return not any(ELFFile(file).iter_segments("PT_INTERP"))
    except (OSError, ELFError, ValueError):
        return False


def tags(path: Path, name: str) -> list[str]:
    """The texts that its dynamic section has for DT_NEEDED or DT_SONAME; none if the file cannot be read."""
    try:
        with path.open("rb") as file:
            found = _dynamic(ELFFile(file), name)
            return [str(getattr(tag, name.removeprefix("DT_").lower())) for tag in found]
    except (OSError, ELFError, ValueError):
        return []


def defined(path: Path, names: Sequence[str], table: str = ".symtab") -> set[str]:
    """Those of these symbols that a table of a native file defines; none if it has been stripped or cannot be read."""
    try:
        with path.open("rb") as file:
            found = ELFFile(file).get_section_by_name(table)
            if not isinstance(found, SymbolTableSection) or found["sh_entsize"] != struct.calcsize(_SYMBOL):
                return set()
            texts, entries = found.stringtable.data(), struct.iter_unpack(_SYMBOL, found.data())
    except (OSError, ELFError, ValueError):
        return set()
    at = {place.start(): name for name in names for place in re.finditer(re.escape(name.encode()) + b"\0", texts)}
    return {at[name] for name, _, _, section, _, _ in entries if section and name in at}


_SYMBOL = "IBBHQQ"
"""an entry of a symbol table with 64 bits: its name's place, kind, visibility, section (0: undefined), value, size"""


def contains(path: Path, word: bytes) -> bool:
    """Whether the file contains these bytes, such as the name of a library."""
    try:
        return word in path.read_bytes()
    except OSError:
        return False


CPP = (b"GLIBCXX_", b"CXXABI_", b"libc++.so")
"""bytes of an executable that uses a library of C++: versions of GCC's, and the name of LLVM's"""


def is_cpp(path: Path) -> bool:
    """Whether an executable itself uses a library of C++, and so is no program of another language or interpreter."""
    return any(contains(path, word) for word in CPP)


@cache
def _native() -> tuple[int, bool, str]:
    """The target of this interpreter; measured programs are assumed to have the same."""
    with Path(sys.executable).open("rb") as file:
        return _target(ELFFile(file))


def _dynamic(found: ELFFile, name: str) -> Iterator[Any]:
    """The tags of that name in its dynamic section."""
    for part in found.iter_segments("PT_DYNAMIC"):
        if isinstance(part, DynamicSegment):
            yield from part.iter_tags(name)


def _target(found: ELFFile) -> tuple[int, bool, str]:
    """Bits, byte order, machine."""
    return found.elfclass, found.little_endian, found["e_machine"]
