# SPDX-License-Identifier: Apache-2.0
"""Proof that a library which was asked for is in the program that was measured.

Twice: once by an untimed traced launch that reads the memory map of every program of the tree, and in each timed launch
from inside, by a witness library that is preloaded at every level alike, the system's allocator included.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale.errors import PreloadError
from corescale.observe.spawn import ProvedProgram, SpawnReport

SOURCE = "witness"
"""How a record says that the witness was inside."""

WITNESS_LIBRARY = "libcorescale_witness.so"
WITNESS_FOLDER = "CORESCALE_WITNESS"
"""The variable that tells the witness where to write."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the witness saw in one program before its main."""

    pid: int
    executable: str
    malloc: str
    """the object that serves malloc"""
    aligned_alloc: str


def read_witness(folder: Path) -> tuple[Sighting, ...]:
    """Every sighting of a launch, each process's in the order of its programs; one cut short is left out."""
    return tuple(one for path in sorted(folder.glob("witness.*")) for one in _sightings(path.read_bytes()))


def with_witness(environment: Mapping[str, str | None], library: Path, folder: Path) -> dict[str, str | None]:
    """The environment with the witness preloaded behind whatever is preloaded already."""
    before = environment["LD_PRELOAD"] if "LD_PRELOAD" in environment else os.environ.get("LD_PRELOAD")
    preload = ":".join(part for part in (before, str(_loadable(library, folder))) if part)
    return {**environment, "LD_PRELOAD": preload, WITNESS_FOLDER: str(folder)}


def judge(report: SpawnReport, libraries: Iterable[Path], heard: Sequence[Sighting]) -> str:
    """Of a traced launch: raises PreloadError unless each library is in the program that used the most CPU time and,
    where the witness was heard there, serves its malloc. Returns a note on programs without them, or nothing.
    """
    if report.proof is None:
        raise PreloadError(
            "what it loads cannot be proved", where="preload", remedy=f"{report.trouble or 'no trace'}; allow ptrace"
        )
    programs = [program for program in report.proof if not program.replaced]
    for library in libraries:
        _must_be_inside(library, programs, report.tail)
        _must_serve(library, _heaviest(programs), heard)
    return _note([p for p in programs if not all(_has(p, library) for library in libraries)])


def inside(pid: int, libraries: Iterable[Path], heard: Sequence[Sighting]) -> tuple[str, ...]:
    """Which of the libraries serve malloc in the last program of a process."""
    served = [one.malloc for one in heard if one.pid == pid][-1:]
    return tuple(str(library) for library in libraries if any(_same(library, malloc) for malloc in served))


def must_be_heard(libraries: Iterable[Path], heard: Sequence[Sighting], label: str) -> None:
    """Of a timed launch: raises PreloadError where no program of it had the library that the traced one had."""
    for library in libraries:
        if not any(_same(library, one.malloc) for one in heard):
            raise PreloadError(
                f"{library.name} was in the traced launch, but in no program of a timed one",
                where=label,
                remedy="see that the command does the same each time",
            )


def _must_be_inside(library: Path, programs: Sequence[ProvedProgram], said: str) -> None:
    lacking = [program for program in programs if not _has(program, library)]
    if programs and any(_has(program, library) for program in _heaviest(programs)):
        return
    refused = next((line.strip() for line in said.splitlines() if "ld.so" in line and library.name in line), "")
    why = refused or "; ".join(dict.fromkeys(f"{program.executable} {_reason(program)}" for program in lacking))
    raise PreloadError(
        f"{library.name} is not in the program: {why or 'it ended before it could be seen'}",
        where="allocator",
        remedy="leave this allocator out, or link the program with it",
    )


def _must_serve(library: Path, programs: Sequence[ProvedProgram], heard: Sequence[Sighting]) -> None:
    pids = {program.pid for program in programs}
    last = {one.pid: one for one in heard if one.pid in pids and one.malloc}
    others = [one for one in last.values() if not _same(library, one.malloc)]
    if last and len(others) == len(last):
        raise PreloadError(
            f"{library.name} is loaded, but malloc is served by {others[0].malloc}",
            where=others[0].executable,
            remedy="leave this allocator out: the program brings its own",
        )


def _heaviest(programs: Sequence[ProvedProgram]) -> list[ProvedProgram]:
    most = max((program.cpu for program in programs), default=0.0)
    return [program for program in programs if program.cpu == most]


def _has(program: ProvedProgram, library: Path) -> bool:
    return str(library.resolve()) in program.maps


def _same(library: Path, file: str) -> bool:
    return bool(file) and Path(file).resolve() == library.resolve()


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
    return f"the allocator is not in every program: {'; '.join(said)}" if said else ""


def _sightings(data: bytes) -> Iterable[Sighting]:
    words = [word.decode(errors="replace") for word in data.split(b"\0")[:-1]]
    for pid, executable, malloc, aligned in zip(*(words[k::4] for k in range(4)), strict=False):
        yield Sighting(int(pid), executable, malloc, aligned)


def _loadable(library: Path, folder: Path) -> Path:
    """LD_PRELOAD separates by colons and blanks, so a path with one is reached by a link."""
    if not set(" :\t\n") & set(str(library)):
        return library
    link = folder / library.name
    link.symlink_to(library)
    return link
