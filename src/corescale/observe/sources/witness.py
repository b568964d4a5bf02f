# SPDX-License-Identifier: Apache-2.0
"""The witness: a library inside the program that says, before its main, which object serves its malloc.

It is preloaded at every level of an allocator factor alike, the system's allocator included.
"""

import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale import native
from corescale.declare.experiment import Experiment
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source

LIBRARY = "libcorescale_witness.so"
FOLDER = "CORESCALE_WITNESS"
"""The variable that tells the witness where to write: `witness.log` there."""
FILE = "CORESCALE_WITNESS_FILE"
"""The variable that tells it of a descriptor of the same file, for programs that changed their user."""
_OUT_OF_THE_WAY = 63
"""the descriptor's least number: shells keep files from 10 on, and 64 would make the kernel enlarge a table"""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the witness saw in one program before its main."""

    pid: int
    executable: str
    malloc: str
    """the object that serves malloc"""
    aligned_alloc: str

    def has(self, library: Path) -> bool:
        """Whether that library serves its malloc."""
        return bool(self.malloc) and Path(self.malloc).resolve() == library.resolve()


def sightings(scratch: Scratch) -> tuple[Sighting, ...]:
    """Every sighting of a launch, each process's in the order of its programs; one cut short is left out."""
    return _sightings(scratch.of(NAME))


def _sightings(folder: Path) -> tuple[Sighting, ...]:
    return tuple(one for path in sorted(folder.rglob("witness.*")) for one in _of(path.read_bytes()))


def _of(data: bytes) -> Iterable[Sighting]:
    words = [word.decode(errors="replace") for word in data.split(b"\0")[:-1]]
    for pid, executable, malloc, aligned in zip(*(words[k::4] for k in range(4)), strict=False):
        yield Sighting(int(pid), executable, malloc, aligned)


def _wanted(experiment: Experiment) -> bool:
    return any(factor.kind == "allocator" for factor in experiment.factors)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    """The file is there beforehand, and stays open to programs that may no longer open it."""
    log = scratch.of(NAME) / "witness.log"
    log.touch()
    return {"LD_PRELOAD": str(native.library(LIBRARY)), FOLDER: str(scratch.of(NAME)), FILE: _descriptor(scratch, log)}


def _descriptor(scratch: Scratch, log: Path) -> str:
    """As the witness is told of it; open until the launch is over."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    high = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
    os.close(file)
    scratch.inherited = (*scratch.inherited, high)
    status = os.fstat(high)
    return f"{high}:{status.st_dev}:{status.st_ino}"


def _read(scratch: Scratch) -> Found:
    """Which of the configuration's libraries serve malloc in the last program of each process that was heard.

    They must be heard in every program in which they were proved, and where each rank has a folder of its own, in
    every one. A wrapper that is heard does not stand for its program.
    """
    everywhere = scratch.of(NAME)
    places = [folder for folder in everywhere.iterdir() if folder.is_dir()] or [everywhere]
    heard = all(_heard(scratch, _sightings(place)) for place in places)
    last = {one.pid: one for one in sightings(scratch)} if scratch.libraries else {}
    inside = {
        pid: tuple(str(library) for library in scratch.libraries if one.has(library)) for pid, one in last.items()
    }
    return Found(processes={pid: {"preload": libraries} for pid, libraries in inside.items()}, unproved=not heard)


def _heard(scratch: Scratch, sightings: Sequence[Sighting]) -> bool:
    """Of each process only the last program counts: what it was before it gave way says nothing."""
    last = {one.pid: one for one in sightings}.values()
    wanted: Iterable[str | None] = [executable for executable, _ in scratch.proved] or [None]
    return all(
        any(one.has(library) and executable in (None, one.executable) for one in last)
        for library in scratch.libraries
        for executable in wanted
    )


NAME = "witness"
SOURCE = Source(NAME, _wanted, _environment, _read)
