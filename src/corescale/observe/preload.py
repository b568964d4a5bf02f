# SPDX-License-Identifier: Apache-2.0
"""Proves that a library which was asked for is loaded in the measured program.

The proof is an untimed, traced launch. It reads the memory map of every program in the process tree, and what the
witness reports there.
"""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.hash import ELFHashTable, GNUHashTable

from corescale.declare.catalogue import elf, openmp
from corescale.endings import outcome
from corescale.errors import PreloadError
from corescale.observe.scratch import Scratch
from corescale.observe.sources.witness import Sighting, sightings
from corescale.observe.spawn import ProvedProgram, SpawnReport
from corescale.records import Layout, Level


@dataclass(frozen=True)
class ToProve:
    """What one traced launch is to prove: these libraries, in this program, with this number of ranks."""

    libraries: tuple[Path, ...]
    ranks: Layout
    command: Level | None
    programs: tuple[str, ...]


_CXX = re.compile(r"lib(std)?c\+\+")

_OF_CXX = "_ZSt15get_new_handlerv"
"""what a program contains besides operator new if both are the C++ library's, linked statically; they call malloc"""

OBSERVING = re.compile(r"libcorescale_(?!malloc)")
"""how the names of what corescale preloads begin; its allocator alone is there to be used"""

PROVING = ("ok", "timeout", "cancelled")
"""Statuses of a traced launch that can prove something. If it failed, it may not have reached its program."""

_FIRST = re.compile(r"\S+ runtime does not come first in initial library list")
"""what AddressSanitizer writes if another library is preloaded, and ends the program"""

MOST_TRACES = 3
"""Most traced launches of a program that succeeded with libraries which are not proved; it may fail by chance."""

LONGEST = 120.0
"""Longest traced launch in seconds, as a program may wait for ever under a trace; what it showed counts as proved."""


def judged(reports: Iterable[SpawnReport], scratch: Scratch) -> list[str]:
    """The notes on a traced launch from the reports of its ranks; raises as `judge` does."""
    detected = sightings(scratch)
    return [judge(each, scratch.launch.preload, detected) for each in reports]


def refused(said: str) -> str:
    """Why a program failed with a preloaded library, by what it wrote, if it is built with a sanitizer; else empty."""
    return f"it is built with a sanitizer, and {found[0]}" if (found := _FIRST.search(said)) else ""


def not_first(why: str) -> PreloadError:
    """The error for a program that ends if any library is preloaded."""
    return PreloadError(why, where="preload", remedy="leave all allocators but system out, and metrics of explain")


def judge(report: SpawnReport, libraries: Iterable[Path], detected: Sequence[Sighting]) -> str:
    """Judges a traced launch. Raises PreloadError unless each library is in the program that used the most CPU time
    and, if the witness was detected there, serves its malloc. Returns a note on programs without the libraries, or
    nothing.
    """
    if report.proof is None:
        remedy = f"{report.trouble or 'no trace'}; allow ptrace"
        raise PreloadError("the program's preloaded libraries cannot be verified", where="preload", remedy=remedy)
    programs = [program for program in report.proof if not program.replaced]
    if why := refused(report.tail):
        raise not_first(why)
    for library in libraries:
        _must_be_inside(library, programs, report.tail)
        _must_serve(library, _heaviest(programs), detected)
    if report.status not in PROVING:
        why = report.tail.strip()[-200:] or outcome(report)
        return f"the traced launch failed, so that no preloaded library is proved: {why}"
    heavy = _heaviest(programs)
    lacking = [p for p in programs if not all(_has(p, library) for library in libraries)]
    notes = [_note(lacking)]
    if not all(map(openmp.is_runtime, libraries)):
        notes.append(_goes_past(libraries, heavy, detected))
        light = {program.executable for program in programs}.difference(program.executable for program in heavy)
        notes += [_served_otherwise(library, light, detected) for library in libraries]
        notes += [note for each in heavy for note in (_hidden(each), _plug_ins(each, libraries))]
    return "; ".join(filter(None, notes))


def failed(notes: Iterable[str], libraries: Iterable[Path]) -> PreloadError:
    """The error for a program that succeeded with these libraries, but never when it was traced. `notes`: the last
    trace's."""
    return PreloadError(
        "; ".join(notes) or "the traced launch failed",
        where=" and ".join(dict.fromkeys(map(_factor, libraries))),
        remedy=f"leave it out: the program succeeded, but none of {MOST_TRACES} traced launches after that",
    )


def heaviest(reports: Iterable[SpawnReport]) -> tuple[tuple[str, str], ...]:
    """For each traced launch, the executable and the last name of the program that used the most CPU time. Timed
    launches must show the libraries in it. The name distinguishes a script from its interpreter, and a program from the
    one that replaces it by exec.
    """
    programs = [one for report in reports for one in _heaviest([p for p in report.proof or () if not p.replaced])]
    return tuple(dict.fromkeys((program.executable, program.name) for program in programs))


def _must_be_inside(library: Path, programs: Sequence[ProvedProgram], said: str) -> None:
    lacking = [program for program in programs if not _has(program, library)]
    if programs and any(_has(program, library) for program in _heaviest(programs)):
        return
    refused = next((line.strip() for line in said.splitlines() if "ld.so" in line and library.name in line), "")
    why = refused or "; ".join(dict.fromkeys(f"{program.executable} {_reason(program)}" for program in lacking))
    what = f"{library.name} is not in the program: {why or 'it ended before it could be seen'}"
    raise PreloadError(what, where=_factor(library), remedy=_remedy(library, lacking))


def _factor(library: Path) -> str:
    """The factor of which the library is a level."""
    return "openmp" if openmp.is_runtime(library) else "allocator"


def _remedy(library: Path, lacking: Sequence[ProvedProgram]) -> str:
    if lacking and all(program.static or program.setuid for program in lacking):
        what = "openmp" if openmp.is_runtime(library) else "all allocators but system"
        return f"leave {what} out: no library can be preloaded into such a program"
    return "leave this library out, or link the program with it"


def _must_serve(library: Path, programs: Sequence[ProvedProgram], detected: Sequence[Sighting]) -> None:
    executables = {program.executable for program in programs}  # process numbers differ in a pid namespace
    last = {one.pid: one for one in detected if one.executable in executables and one.malloc}
    others = [one for one in last.values() if not one.has(library)]
    if last and len(others) == len(last):
        what = "its parallel regions are" if openmp.is_runtime(library) else "malloc is"
        what = f"{library.name} is loaded, but {what} served by {others[0].instead(library) or 'nothing'}"
        remedy = "leave this library out: the program brings its own"
        raise PreloadError(what, where=others[0].executable, remedy=remedy)


def _served_otherwise(library: Path, executables: Collection[str], detected: Sequence[Sighting]) -> str:
    """A note on these programs, which use less CPU time than another, if they bring a malloc of their own."""
    seen = [one for one in detected if one.executable in executables and one.malloc and not one.has(library)]
    said = dict.fromkeys(f"{one.executable}: malloc is served by {one.instead(library) or 'nothing'}" for one in seen)
    return f"{'; '.join(said)}, not by {library.name}" if said and not openmp.is_runtime(library) else ""


def _goes_past(libraries: Iterable[Path], programs: Sequence[ProvedProgram], detected: Sequence[Sighting]) -> str:
    """A note if the program's operator new bypasses these libraries, which the C++ library's own does not."""
    known, ours = {library.resolve() for library in libraries}, {program.executable for program in programs}
    own = {
        one.executable: one.operator_new
        for one in detected
        if one.executable in ours and one.operator_new and Path(one.operator_new).resolve() not in known
    }
    said = [f"{who}: operator new is served by {what}" for who, what in own.items() if not _CXX.match(Path(what).name)]
    return f"{'; '.join(said)}: the allocator gets what new allocates only if that calls malloc" if said else ""


def _hidden(program: ProvedProgram) -> str:
    """A note on a malloc or operator new of the program itself that the witness does not find, because the program does
    not export it. A program that was stripped shows none."""
    found = elf.defined(Path(program.executable), ("malloc", "_Znwm", _OF_CXX))
    own = found - elf.defined(Path(program.executable), ("malloc", "_Znwm"), ".dynsym")
    names = ["malloc"] * ("malloc" in own) + ["operator new"] * ("_Znwm" in own and _OF_CXX not in found)
    return f"{program.executable}: has its own {' and '.join(names)}, which may go past the allocator" if names else ""


def _plug_ins(program: ProvedProgram, libraries: Iterable[Path]) -> str:
    """A note on libraries with a malloc that the program loaded at run time, because they may use their own malloc.
    Libraries that the program is linked with use the first malloc of all, which is known.
    """
    linked = _linked(program, libraries)
    loaded = [file for file in program.maps if file not in linked and not OBSERVING.match(Path(file).name)]
    own = [file for file in loaded if _has_malloc(file)]
    return (
        f"{', '.join(own)}: loaded by {program.executable}, with a malloc that may go past the allocator" if own else ""
    )


def _linked(program: ProvedProgram, libraries: Iterable[Path]) -> set[str]:
    """The files mapped since the program's start: itself, preloaded libraries, and what these are linked with."""
    names = {name: file for file in program.maps for name in (Path(file).name, *elf.tags(Path(file), "DT_SONAME"))}
    preloaded = [*map(str, libraries), *re.split("[ :]", os.environ.get("LD_PRELOAD", ""))]
    found, new = set[str](), {program.executable, *(os.path.realpath(file) for file in preloaded if file)}
    while new:
        found |= new
        needed = {Path(name).name for file in new for name in elf.tags(Path(file), "DT_NEEDED")}
        new = {names[name] for name in needed & names.keys()} - found
    return found


def _has_malloc(file: str) -> bool:
    """Whether a file exports a malloc."""
    with contextlib.suppress(OSError, ELFError), Path(file).open("rb") as opened:
        sections = ELFFile(opened)
        table = sections.get_section_by_name(".gnu.hash") or sections.get_section_by_name(".hash")
        found = table.get_symbol("malloc") if isinstance(table, ELFHashTable | GNUHashTable) else None
        return found is not None and found["st_shndx"] != "SHN_UNDEF"
    return False


def _heaviest(programs: Sequence[ProvedProgram]) -> list[ProvedProgram]:
    most = max((program.cpu for program in programs), default=0.0)
    return [program for program in programs if program.cpu == most]


def _has(program: ProvedProgram, library: Path) -> bool:
    return str(library.resolve()) in program.maps


def _reason(program: ProvedProgram) -> str:
    if program.static:
        return "is linked statically"
    if program.setuid:
        return "is set-user-id, for which the loader ignores preloads"
    if not program.readable:
        return "could not be looked into"
    if any("ld-musl" in file for file in program.maps):
        return "uses another C library (musl)"
    return "was started without it: a wrapper reset LD_PRELOAD"


def _note(lacking: Sequence[ProvedProgram]) -> str:
    said = dict.fromkeys(f"{program.executable} {_reason(program)}" for program in lacking)
    return f"what is preloaded is not in every program: {'; '.join(said)}" if said else ""
