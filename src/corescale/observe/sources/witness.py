# SPDX-License-Identifier: Apache-2.0
"""The witness: a library inside the program that says, before its main, which object serves its malloc.

It is preloaded at every level of an allocator factor alike, the system's allocator included.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corescale import native
from corescale.declare.experiment import Experiment
from corescale.errors import PreloadError
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source

LIBRARY = "libcorescale_witness.so"
FOLDER = "CORESCALE_WITNESS"
"""The variable that tells the witness where to write: `witness.<process id>` there."""


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
    return {"LD_PRELOAD": str(native.library(LIBRARY)), FOLDER: str(scratch.of(NAME))}


def _read(scratch: Scratch) -> Found:
    """Which of the configuration's libraries serve malloc in the last program of each process.

    Where each rank has a folder of its own, they must be heard in every one.
    """
    everywhere = scratch.of(NAME)
    for place in [folder for folder in everywhere.iterdir() if folder.is_dir()] or [everywhere]:
        _must_be_heard(scratch.libraries, _sightings(place))
    heard = sightings(scratch)
    last = {one.pid: one for one in heard} if scratch.libraries else {}
    inside = {
        pid: tuple(str(library) for library in scratch.libraries if one.has(library)) for pid, one in last.items()
    }
    return Found(processes={pid: {"preload": libraries} for pid, libraries in inside.items()})


def _must_be_heard(libraries: Iterable[Path], heard: Sequence[Sighting]) -> None:
    for library in libraries:
        if not any(one.has(library) for one in heard):
            raise PreloadError(
                f"{library.name} was in the traced launch, but in no program of a timed one",
                where="allocator",
                remedy="see that the command does the same each time",
            )


NAME = "witness"
SOURCE = Source(NAME, _wanted, _environment, _read)
