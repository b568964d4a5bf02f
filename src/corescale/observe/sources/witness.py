# SPDX-License-Identifier: Apache-2.0
"""The witness: a library inside the program that says, before its main, which objects serve its malloc and its parallel
regions of OpenMP.

It is preloaded at every level of an allocator factor, the system's allocator included.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale import native
from corescale.declare.catalogue import openmp
from corescale.declare.factors import Launch
from corescale.documents import content
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source
from corescale.observe.spawn import SpawnedProcess

LIBRARY = "libcorescale_witness.so"
FOLDER = "CORESCALE_WITNESS"
"""The variable that says where the witness writes: `witness.log` there."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the witness saw in one program before its main."""

    pid: int
    executable: str
    malloc: str
    """the object that serves malloc"""
    operator_new: str
    """the object that serves operator new; empty in a program without C++"""
    regions: str = ""
    """the object that serves parallel regions, as GCC compiles them; empty in a program without"""

    def instead(self, library: Path) -> str:
        """The object that serves what this library would serve."""
        return self.regions if openmp.is_runtime(library) else self.malloc

    def has(self, library: Path) -> bool:
        """Whether that library serves its malloc, or as a runtime of OpenMP its parallel regions."""
        return bool(found := self.instead(library)) and Path(found).resolve() == library.resolve()


def sightings(scratch: Scratch) -> tuple[Sighting, ...]:
    """Every sighting of a launch, each process's in the order of its programs; other lines are left out."""
    return _sightings(scratch.of(NAME))


def _sightings(folder: Path) -> tuple[Sighting, ...]:
    return tuple(one for path in sorted(folder.rglob("witness.*")) for one in _of(path))


def _of(path: Path) -> Iterable[Sighting]:
    """The sightings of a file; none if the program put something else there."""
    data = b""
    with contextlib.suppress(OSError):
        data = content(path)
    words = [word.decode(errors="replace") for word in data.split(b"\0")[:-1]]
    for pid, *objects in zip(*(words[k::5] for k in range(5)), strict=False):
        if pid.isdecimal():  # the program can write there, too
            yield Sighting(int(pid), *objects)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    """The file is made beforehand, because making it would take the first program longer than all else that the witness
    does."""
    (scratch.of(NAME) / "witness.log").touch()
    return {"LD_PRELOAD": str(native.library(LIBRARY)), FOLDER: str(scratch.of(NAME))}


def _read(scratch: Scratch) -> Found:
    """Which of the configuration's libraries serve the last program of each process that was detected.

    They must be detected in every program in which they were proved and, if each rank has a folder of its own, in every
    rank. A wrapper that is detected does not count for its program.
    """
    everywhere, wanted, detected = scratch.of(NAME), scratch.launch.preload, sightings(scratch)
    places = [folder for folder in everywhere.iterdir() if folder.is_dir()] or [everywhere]
    proved = bool(scratch.proved) and all(_detected(scratch, _sightings(place)) for place in places)
    last = {one.pid: one for one in detected} if wanted else {}
    inside = {pid: tuple(str(library) for library in wanted if one.has(library)) for pid, one in last.items()}
    return Found(
        processes={pid: {"preload": libraries} for pid, libraries in inside.items()},
        unproved=bool(wanted) and (not proved or gave_way(scratch.processes, scratch.proved, detected)),
        warnings=tuple(_warnings(scratch.launch, detected)),
    )


def _detected(scratch: Scratch, sightings: Sequence[Sighting]) -> bool:
    """The last program of each process; the programs that it was before do not count."""
    last = {one.pid: one for one in sightings}.values()
    return all(
        any(one.has(library) and one.executable == executable for one in last)
        for library in scratch.launch.preload
        for executable, _ in scratch.proved
    )


def gave_way(
    processes: Iterable[SpawnedProcess], proved: Iterable[tuple[str, str]], detected: Sequence[Sighting]
) -> bool:
    """Whether a process that was detected as one of the proved programs ended as another one, which was not
    detected."""
    names = {name: executable for executable, name in proved}
    last = {one.pid: one.executable for one in detected}
    suspects = [process for process in processes if last.get(process.pid) in set(names.values())]
    return any(process.name and names.get(process.name) != last[process.pid] for process in suspects)


def _warnings(launch: Launch, detected: Sequence[Sighting]) -> Iterator[str]:
    """Warns if the level is the C library's allocator, but a library of LD_PRELOAD serves malloc. It is not one of the
    known allocators, so it stayed.
    """
    if launch.preload or not launch.replaces_allocator:
        return
    kept = {Path(word).name for word in (launch.variables["LD_PRELOAD"] or "").split(":")}
    for malloc in dict.fromkeys(one.malloc for one in detected if Path(one.malloc).name in kept):
        yield f"allocator=system: malloc is served by {malloc}, which the inherited LD_PRELOAD brings"


NAME = "witness"
SOURCE = Source(NAME, lambda asked: any(each.how.preloads for each in asked.factors), _environment, _read,
                by_rank=(FOLDER,))  # fmt: skip
