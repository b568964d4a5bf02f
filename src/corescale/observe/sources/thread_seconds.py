# SPDX-License-Identifier: Apache-2.0
"""Metrics from explain's profiler in every launch: `--metric heap=explain:allocating`, in seconds of all threads."""

from collections.abc import Callable, Mapping

from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.errors import UsageError
from corescale.observe import profiler
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source
from corescale.profile import Profile, ThreadTimes

NAME = "profiler"
PREFIX = "explain:"


def _sum(value: Callable[[ThreadTimes], float]) -> Callable[[Profile], float]:
    return lambda profile: sum(map(value, profile.threads))


KINDS: Mapping[str, Callable[[Profile], float]] = {
    "allocating": _sum(lambda thread: thread.allocating),
    "lock-wait": lambda profile: profile.shares["lock"],
    "barrier-wait": lambda profile: profile.shares["barrier"] + profile.shares["join"],
    "waiting-for-a-core": _sum(lambda thread: thread.queued),
    "spinning": _sum(lambda thread: thread.burnt.get("spinning", 0.0)),
    "MPI": lambda profile: profile.shares["message"],
}
"""Seconds of each kind, over a program's threads; a row of the ledger, made from the whole launch, may be larger."""


def _wanted(experiment: Experiment) -> bool:
    """Whether such metrics are declared; raises UsageError for an unknown kind."""
    asked = [source.removeprefix(PREFIX) for source in experiment.metrics.values() if source.startswith(PREFIX)]
    if unknown := next((kind for kind in asked if kind not in KINDS), None):
        remedy = f"write one of {', '.join(KINDS)}"
        raise UsageError(f"explain has no {unknown!r} as a metric", where="--metric", remedy=remedy)
    return bool(asked)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    if space.sanitized(scratch.launch.argv):
        return {}
    every_thread = profiler.MOST_THREADS  # with a slot for every thread, none of their waits is left out
    return profiler.environment(scratch.of(NAME), every_thread, None)


def _read(scratch: Scratch) -> Found:
    """The sums over all threads of all profiled programs; none if there is no profile, or if one is incomplete."""
    profiles, unwritten = profiler.read(scratch.of(NAME))
    if not profiles or unwritten:
        return Found()
    return Found(measured={PREFIX + kind: sum(map(seconds, profiles)) for kind, seconds in KINDS.items()})


SOURCE = Source(NAME, _wanted, _environment, _read, gives=("explain",), first=True)
