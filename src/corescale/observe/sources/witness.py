# SPDX-License-Identifier: Apache-2.0
"""The witness: a library inside the program reports, before main, which objects provide its malloc and its OpenMP
parallel regions.

It is preloaded at every level of an allocator factor, even for the system's allocator.
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
"""The variable with the folder in which the witness writes `witness.log`."""
KEEPS = "CORESCALE_WITNESS_KEEPS"
"""The variable that keeps libraries loaded in a launch that is a proof."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the witness found in one program before its main."""

    pid: int
    executable: str
    malloc: str
    """the object that serves malloc"""
    operator_new: str
    """the object that serves operator new; empty in a program without C++"""
    regions: str = ""
    """the object that serves parallel regions, as GCC compiles them; empty in a program without any"""

    def instead(self, library: Path) -> str:
        """The object that provides what this library should provide."""
        return self.regions if openmp.is_runtime(library) else self.malloc

    def has(self, library: Path) -> bool:
        """Whether the library serves the program's malloc, or, if it is an OpenMP runtime, its parallel regions."""
        return bool(found := self.instead(library)) and Path(found).resolve() == library.resolve()


def sightings(scratch: Scratch) -> tuple[Sighting, ...]:
    """Every sighting of a launch. Those of a process are in the order of its programs. Invalid lines are ignored."""
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
        if pid.isdecimal():  # the program may have written the line
            yield Sighting(int(pid), *objects)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    """The variables. The file is made beforehand, because that costs more than the rest of the witness's work."""
    (scratch.of(NAME) / "witness.log").touch()
    keeps = {KEEPS: "1"} if scratch.launch.preload and not scratch.proved else {}
    return {"LD_PRELOAD": str(native.library(LIBRARY)), FOLDER: str(scratch.of(NAME)), **keeps}


def _read(scratch: Scratch) -> Found:
    """The configuration's libraries that serve the last program of each detected process.

    They must be detected in every program in which they were proved, and, if ranks have separate folders, in every
    rank. Detecting a wrapper does not count as detecting its program.
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
    """Whether the libraries are detected in the last program of each process, the only one that counts."""
    last = {one.pid: one for one in sightings}.values()
    return all(
        any(one.has(library) and one.executable == executable for one in last)
        for library in scratch.launch.preload
        for executable, _ in scratch.proved
    )


def gave_way(
    processes: Iterable[SpawnedProcess], proved: Iterable[tuple[str, str]], detected: Sequence[Sighting]
) -> bool:
    """Whether a process detected as a proved program ended as another one, which was not detected."""
    names = {name: executable for executable, name in proved}
    last = {one.pid: one.executable for one in detected}
    suspects = [process for process in processes if last.get(process.pid) in set(names.values())]
    return any(process.name and names.get(process.name) != last[process.pid] for process in suspects)


def _warnings(launch: Launch, detected: Sequence[Sighting]) -> Iterator[str]:
    """Warns if the level is the C library's allocator, but an unknown library of LD_PRELOAD serves malloc. (Only known
    allocators are removed from LD_PRELOAD.)
    """
    if launch.preload or not launch.replaces_allocator:
        return
    kept = {Path(word).name for word in (launch.variables["LD_PRELOAD"] or "").split(":")}
    for malloc in dict.fromkeys(one.malloc for one in detected if Path(one.malloc).name in kept):
        yield f"allocator=system: malloc is served by {malloc}, which the inherited LD_PRELOAD brings"


NAME = "witness"
SOURCE = Source(NAME, lambda asked: any(each.how.preloads for each in asked.factors), _environment, _read,
                by_rank=(FOLDER,))  # fmt: skip
