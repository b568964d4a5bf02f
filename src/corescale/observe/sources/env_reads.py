# SPDX-License-Identifier: Apache-2.0
"""Env reads: a library inside the program reports which of the known variables it reads.

Only warm-up launches use it, so its cost at each getenv is in no time that counts.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from corescale import native
from corescale.declare.catalogue import env_reads
from corescale.documents import content
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source

LIBRARY = "libcorescale_env_reads.so"
FOLDER = "CORESCALE_ENV_READS"
"""The variable with the folder in which it writes `asked.log`."""
KNOWN = "CORESCALE_KNOWN"
"""The variable with the names that it reports."""


def _environment(scratch: Scratch) -> Mapping[str, str]:
    known = ",".join(sorted(env_reads.DETECTED))
    return {"LD_PRELOAD": str(native.library(LIBRARY)), FOLDER: str(scratch.of(NAME)), KNOWN: known}


def _read(scratch: Scratch) -> Found:
    """The variables that were read, and those that programs with undetectable reads are assumed to read."""
    programs = [Path(process.executable) for process in scratch.processes if process.executable]
    lines = {line for path in scratch.of(NAME).rglob("asked.log") for line in _lines(path)}
    if not lines and not any(env_reads.undetectable(program) for program in programs):
        return Found()
    detected = {line for line in lines if not line.startswith("/")}
    objects = [Path(line) for line in lines if line.startswith("/")]
    found = detected | env_reads.undetected(scratch.launch.argv, [*programs, *objects])
    return Found(fields={"reads": tuple(sorted(found & env_reads.DETECTED))})


def _lines(path: Path) -> list[str]:
    """The lines of one file; none if the program put something else there."""
    with contextlib.suppress(OSError):
        return content(path).decode(errors="replace").splitlines()
    return []


NAME = "env_reads"
SOURCE = Source(NAME, lambda _: True, _environment, _read, probe=False, by_rank=(FOLDER,))
