# SPDX-License-Identifier: Apache-2.0
"""Turns addresses of a program into functions, files and lines, by the symbols and DWARF of its files."""

import bisect
import contextlib
import ctypes
import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_ST_INFO_TYPE
from elftools.elf.sections import SymbolTableSection

from corescale.profile import Place

_OFFSETS_FROM_HERE = bytes((1, 0x1B, 0x03, 0x3B))
"""version and encodings of .eh_frame_hdr that all linkers use"""


_TIMES = 48
"""The bits of an address. The bits above count how often another object was mapped at the same place."""


MADE = "code made at run time"
"""the name of code that belongs to no file, such as a JIT's"""

_LINKED = {
    "libstd-": re.compile(
        r"_R(?:(?!Cs)\w)*Cs[0-9a-zA-Z]+_(?:3std|4core|5alloc)|_ZN(?:3std|4core|5alloc)[\w$.]+17h[0-9a-f]{16}E"
    ),
    "libgo": re.compile(r"runtime\."),
}
"""Libraries of Rust and Go that are linked into the programs, and the symbols of their functions."""


@dataclass(frozen=True, slots=True)
class _Mapping:
    since: int
    start: int
    end: int
    offset: int
    path: str


class Symbols:
    """Names the addresses of one process, from its executable mappings. These are lines of /proc/self/maps, each after
    a number that counts the objects mapped at that place before. An address has that number in its upper 16 bits.
    """

    def __init__(self, maps: str, ended: float = math.inf) -> None:
        """`ended`: when the process did, in seconds since 1970. A file that was changed later has other symbols."""
        self._mappings = list(map(_mapping, maps.splitlines()))
        self._known: dict[int, Place] = {}
        self._objects: dict[str, _Object] = {}
        self._ended = ended
        self.lost: set[str] = set()
        """names of files that were removed or changed before their symbols were read"""

    def __call__(self, address: int) -> Place:
        """What is at an address."""
        if address not in self._known:
            self._known[address] = self._place(address >> _TIMES, address & ((1 << _TIMES) - 1))
        return self._known[address]

    def _place(self, times: int, address: int) -> Place:
        there = (one for one in self._mappings if one.since <= times and one.start <= address < one.end)
        mapping = max(there, key=lambda one: one.since, default=None)
        if mapping is None:
            return Place(MADE)
        if mapping.path not in self._objects:
            self._objects[mapping.path] = self._object(mapping.path)
        return self._objects[mapping.path].place(address - mapping.start + mapping.offset)

    def _object(self, path: str) -> "_Object":
        if path.startswith("/") and not path.endswith(UNLINKED) and not _is_as_it_was(path, self._ended):
            self.lost.add(Path(path).name)
            return _Object(path, read=False)
        return _object(path)


UNLINKED = " (deleted)"
"""behind the name of a mapped file that had none when it was seen; the kernel's own, as /memfd:NAME, never had one"""


def _is_as_it_was(path: str, ended: float) -> bool:
    try:
        return Path(path).stat().st_ctime <= ended
    except OSError:
        return False


def _mapping(line: str) -> _Mapping:
    since, words, *rest = line.split(maxsplit=6)
    start, end = (int(word, 16) for word in words.split("-"))
    return _Mapping(int(since), start, end, int(rest[1], 16), rest[4] if len(rest) > 4 else "")


class _Object:
    """The symbols of one file; none if it is not to be read, or cannot be."""

    def __init__(self, path: str, *, read: bool = True) -> None:
        self._path = path
        self._segments: list[tuple[int, int, int]] = []
        self._functions: list[tuple[int, int, str]] = []
        self._begins: list[int] = []
        self._dwarf: Any = None
        self._lines: dict[int, tuple[list[int], list[tuple[str, int]]]] = {}
        with contextlib.suppress(OSError, ELFError, ValueError):
            if read:
                self._read(Path(path))
        self._starts = [function[0] for function in self._functions]

    def _read(self, path: Path) -> None:
        file = ELFFile(path.open("rb"))
        for segment in file.iter_segments("PT_LOAD"):
            self._segments.append((segment["p_offset"], segment["p_filesz"], segment["p_vaddr"]))
        tables = (section for section in file.iter_sections() if isinstance(section, SymbolTableSection))
        self._functions = sorted({one[0]: one for table in tables for one in _named(file, table)}.values())
        self._begins = _begins(file)
        if file.has_dwarf_info():
            self._dwarf = file.get_dwarf_info()

    def place(self, offset: int) -> Place:
        """What is at an offset in the file."""
        address = next(
            (at + offset - start for start, size, at in self._segments if start <= offset < start + size), offset
        )
        file, line = self._line(address)
        symbol = self._symbol(address)
        linked = (library for library, symbols in _LINKED.items() if symbols.match(symbol))
        return Place(demangled(symbol), file, line, next(linked, self._path))

    def _symbol(self, address: int) -> str:
        at = bisect.bisect_right(self._starts, address) - 1
        if at >= 0:
            start, size, name = self._functions[at]
            if address < start + max(size, 1):
                return name
        at = bisect.bisect_right(self._begins, address) - 1
        return f"{Path(self._path).name}+{self._begins[at] if at >= 0 else address:#x}"

    def _line(self, address: int) -> tuple[str, int]:
        if self._dwarf is None:
            return "", 0
        with contextlib.suppress(DWARFError, ELFError, KeyError, ValueError):
            unit = self._aranges.cu_offset_at_addr(address) if self._aranges else None
            if unit is not None:
                addresses, places = self._table(unit)
                at = bisect.bisect_right(addresses, address) - 1
                if at >= 0:
                    return places[at]
        return "", 0

    @functools.cached_property
    def _aranges(self) -> Any:
        return self._dwarf.get_aranges()

    def _table(self, offset: int) -> tuple[list[int], list[tuple[str, int]]]:
        if offset not in self._lines:
            program = self._dwarf.line_program_for_CU(self._dwarf.get_CU_at(offset))
            rows = sorted(_rows(program), key=lambda row: row[0]) if program else []
            self._lines[offset] = ([row[0] for row in rows], [row[1] for row in rows])
        return self._lines[offset]


_FIELDS = {
    64: [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8")],
    32: [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2")],
}
"""an entry of a symbol table, by the bits of the file"""


def _named(file: ELFFile, table: SymbolTableSection) -> Iterator[tuple[int, int, str]]:
    """Start, size and name of each function of a symbol table; read as one array, as a program may have 100,000."""
    layout = np.dtype(_FIELDS[file.elfclass]).newbyteorder("<" if file.little_endian else ">")
    found = np.frombuffer(table.data(), layout, count=table.num_symbols())
    found = found[(found["info"] & 15 == ENUM_ST_INFO_TYPE["STT_FUNC"]) & (found["value"] != 0)]
    names = table.stringtable.data()
    for name, value, size in zip(*(found[field].tolist() for field in ("name", "value", "size")), strict=True):
        yield value, size, names[name : names.index(0, name)].decode(errors="replace")


def _begins(file: ELFFile) -> list[int]:
    """The addresses of its functions, from the unwind table, which even a stripped file has."""
    section = file.get_section_by_name(".eh_frame_hdr")
    if section is None or section.data()[:4] != _OFFSETS_FROM_HERE:
        return []
    pairs = np.frombuffer(section.data(), np.dtype([("function", "<i4"), ("entry", "<i4")]), offset=12)
    return sorted((pairs["function"].astype(np.int64) + section["sh_addr"]).tolist())


def _rows(program: Any) -> list[tuple[int, tuple[str, int]]]:
    files = program["file_entry"]
    first = 0 if program["version"] >= 5 else 1
    found = []
    for entry in program.get_entries():
        if (state := entry.state) is not None and state.line:
            name = files[state.file - first].name.decode(errors="replace")
            found.append((state.address, ("", 0) if state.end_sequence else (name, state.line)))
    return found


@functools.cache
def _object(path: str) -> _Object:
    return _Object(path)


_HASH = re.compile(r"17h[0-9a-f]{16}(?=E)")
"""the hash at the end of legacy Rust symbol names"""


@functools.cache
def demangled(name: str) -> str:
    """A C++ name as it is written, demangled by the C++ library; a Rust name as its path."""
    if name.startswith("_R"):
        return "::".join(_words(name[2:])) or name
    if not name.startswith("_Z") or (library := _cxx()) is None:
        return name
    status = ctypes.c_int()
    library.__cxa_demangle.restype = ctypes.c_void_p
    found = library.__cxa_demangle(_HASH.sub("", name).encode(), None, None, ctypes.byref(status))
    if not found:
        return name
    text = ctypes.string_at(found).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(found))
    return _ESCAPED.sub(_unescaped, text) if _HASH.search(name) else text


_ESCAPED = re.compile(r"\$(LT|GT|RF|BP|C|u[0-9a-f]+)\$|\.\.")
_NAMED = {"LT": "<", "GT": ">", "RF": "&", "BP": "*", "C": ","}


def _unescaped(found: re.Match[str]) -> str:
    """The character that an escape in legacy Rust symbol names stands for."""
    if not found[1]:
        return "::"
    return _NAMED.get(found[1]) or chr(int(found[1][1:], 16))


def _words(path: str) -> Iterator[str]:
    """The identifiers of a mangled Rust path, without crate hashes and back references."""
    at = 0
    while at < len(path):
        if mark := re.compile(r"[sB][0-9a-zA-Z]*_").match(path, at):
            at = mark.end()
        elif number := re.compile(r"(\d+)_?").match(path, at):
            at = number.end() + int(number[1])
            yield path[number.end() : at]
        else:
            at += 1


@functools.cache
def _cxx() -> Any:
    with contextlib.suppress(OSError):
        return ctypes.CDLL("libstdc++.so.6")
    return None
