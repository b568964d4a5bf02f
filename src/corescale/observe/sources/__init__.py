# SPDX-License-Identifier: Apache-2.0
"""The table of sources: reports of a program about itself, and observations inside it.

A new source needs a file with a SOURCE and a line in SOURCES. ARCHITECTURE.md lists what else it needs.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from corescale import native
from corescale.declare.experiment import Experiment
from corescale.errors import CorescaleError, UnavailableError
from corescale.observe.scratch import Scratch
from corescale.observe.sources import counters, env_reads, result, thread_seconds, witness
from corescale.observe.sources.source import Found, Source
from corescale.profile import Span

__all__ = ["SOURCES", "Found", "Source", "environment", "read", "wanted", "warming_up"]

SOURCES: tuple[Source, ...] = (result.SOURCE, witness.SOURCE, counters.SOURCE, thread_seconds.SOURCE)


def wanted(experiment: Experiment) -> tuple[Source, ...]:
    """The sources that this experiment uses."""
    return tuple(source for source in SOURCES if source.wanted(experiment))


def warming_up() -> tuple[Source, ...]:
    """The sources that only warm-up launches use, if they are built."""
    with contextlib.suppress(UnavailableError):
        native.library(env_reads.LIBRARY)
        return (env_reads.SOURCE,)
    return ()


def environment(sources: Iterable[Source], before: Mapping[str, str | None], scratch: Scratch) -> dict[str, str | None]:
    """The changes to the inherited environment: first `before`, then what each source changes."""
    changes = dict(before)
    for source in sources:
        scratch.by_rank += source.by_rank
        for name, value in source.environment(scratch).items():
            changes[name] = _preloaded(changes, value, scratch, first=source.first) if name == PRELOAD else value
    return changes


def read(sources: Iterable[Source], scratch: Scratch, *, succeeded: bool) -> Found:
    """What all sources found. If the launch failed, a source with an error of its own gives nothing."""
    fields: dict[str, Any] = {}
    processes: dict[int, Mapping[str, Any]] = {}
    measured: dict[str, float] = {}
    warnings: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    unproved = False
    for source in sources:
        try:
            found = source.read(scratch)
        except CorescaleError:
            if succeeded:
                raise
            continue
        fields |= found.fields
        processes |= found.processes
        measured |= found.measured
        warnings += found.warnings
        spans += found.spans
        unproved = unproved or found.unproved
    return Found(fields, processes, unproved, measured, warnings, spans)


PRELOAD = "LD_PRELOAD"


def _preloaded(changes: Mapping[str, str | None], library: str, scratch: Scratch, *, first: bool) -> str:
    before = changes[PRELOAD] if PRELOAD in changes else os.environ.get(PRELOAD)
    parts = (before, str(_loadable(Path(library), scratch.folder)))
    return ":".join(part for part in (reversed(parts) if first else parts) if part)


def _loadable(library: Path, folder: Path) -> Path:
    """The path of the library for LD_PRELOAD. If it has a colon or blank, which are separators there, it is a link."""
    if not set(" :\t\n") & set(str(library)):
        return library
    link = folder / library.name
    link.symlink_to(library)
    return link
