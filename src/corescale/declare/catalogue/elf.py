# SPDX-License-Identifier: Apache-2.0
"""Whether a file can be preloaded, and into what: what ld.so looks at before it agrees, read without loading."""

import struct
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SHARED_OBJECT = 3
_DYNAMIC_SEGMENT = 2
_INTERPRETER_SEGMENT = 3
_FLAGS_1, _IS_EXECUTABLE = 0x6FFFFFFB, 0x08000000


def refusal(path: Path) -> str | None:
    """Why `path` cannot be preloaded into programs of this machine, or None where it can."""
    try:
        content = path.read_bytes()
        header = _header(content)
        if header.kind != _SHARED_OBJECT or _flags(content, header) & _IS_EXECUTABLE:
            return "an executable or object file, no shared object"
    except OSError as error:
        return (error.strerror or "cannot be read").lower()
    except (ValueError, struct.error):
        return "no shared object"
    return None if header.target == _native() else "a shared object for another kind of machine"


def static(path: Path) -> bool:
    """Whether it is an executable that no dynamic loader prepares, so that nothing can be preloaded into it."""
    try:
        content = path.read_bytes()
        header = _header(content)
        kinds = [
            struct.unpack_from(f"{header.order}I", content, header.segments + k * header.segment_size)[0]
            for k in range(header.segment_count)
        ]
    except (OSError, ValueError, struct.error):
        return False
    return _INTERPRETER_SEGMENT not in kinds


def contains(path: Path, word: bytes) -> bool:
    """Whether the file has these bytes, as the name of a library that it needs."""
    try:
        return word in path.read_bytes()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Header:
    kind: int
    target: tuple[int, int, int]
    """class (32 or 64 bit), byte order, machine"""
    segments: int
    """offset of the program headers"""
    segment_size: int
    segment_count: int

    @property
    def order(self) -> str:
        return "<" if self.target[1] == 1 else ">"


@cache
def _native() -> tuple[int, int, int]:
    """This interpreter's, taken for the programs measured."""
    return _header(Path(sys.executable).read_bytes()).target


def _header(content: bytes) -> _Header:
    if len(content) < 20 or content[:4] != b"\x7fELF" or content[4] not in (1, 2) or content[5] not in (1, 2):
        raise ValueError("no ELF file")
    order = "<" if content[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", content, 16)
    layout, offset = ("QQQIHHH", 24) if content[4] == 2 else ("IIIIHHH", 24)
    _, segments, _, _, _, size, count = struct.unpack_from(f"{order}{layout}", content, offset)
    return _Header(kind, (content[4], content[5], machine), segments, size, count)


def _flags(content: bytes, header: _Header) -> int:
    """DT_FLAGS_1 of the dynamic segment: position-independent executables are shared objects but for it."""
    wide = header.target[0] == 2
    entry = struct.Struct(f"{header.order}{'qQ' if wide else 'iI'}")
    for index in range(header.segment_count):
        start, size = _dynamic(content, header, header.segments + index * header.segment_size, wide)
        for tag, value in entry.iter_unpack(content[start : start + size - size % entry.size]):
            if tag == _FLAGS_1:
                return int(value)
    return 0


def _dynamic(content: bytes, header: _Header, offset: int, wide: bool) -> tuple[int, int]:
    """Where in the file a program header's segment lies, if it is the dynamic one; else nothing."""
    if wide:
        kind, _, start, _, _, size = struct.unpack_from(f"{header.order}IIQQQQ", content, offset)
    else:
        kind, start, _, _, size = struct.unpack_from(f"{header.order}IIIII", content, offset)
    if kind != _DYNAMIC_SEGMENT:
        return 0, 0
    if start + size > len(content):
        raise ValueError("cut short")
    return start, size
