# SPDX-License-Identifier: Apache-2.0
"""What the profiler of explain sees in every launch: `--metric heap=explain:allocating`, in seconds of all threads."""

from collections.abc import Callable, Mapping

from corescale.declare.experiment import Experiment
from corescale.errors import UsageError
from corescale.observe import profiler
from corescale.observe.scratch import Scratch
from corescale.observe.sources.source import Found, Source
from corescale.profile import ThreadTimes

NAME = "profiler"
PREFIX = "explain:"
KINDS: Mapping[str, Callable[[ThreadTimes], float]] = {
    "allocating": lambda thread: thread.allocating,
    "lock-wait": lambda thread: thread.spent.get("locking", 0.0),
    "barrier-wait": lambda thread: thread.spent.get("barrier", 0.0) + thread.spent.get("joining", 0.0),
    "waiting-for-a-core": lambda thread: thread.queued,
    "spinning": lambda thread: thread.burnt.get("spinning", 0.0),
    "MPI": lambda thread: thread.spent.get("message", 0.0),
}
"""Each kind of a thread's time. What a row of the ledger has besides is not here: it needs the launch as a whole."""


def _wanted(experiment: Experiment) -> bool:
    """Raises UsageError for an unknown kind."""
    asked = [source.removeprefix(PREFIX) for source in experiment.metrics.values() if source.startswith(PREFIX)]
    if unknown := next((kind for kind in asked if kind not in KINDS), None):
        remedy = f"write one of {', '.join(KINDS)}"
        raise UsageError(f"explain has no {unknown!r} as a metric", where="--metric", remedy=remedy)
    return bool(asked)


def _environment(scratch: Scratch) -> Mapping[str, str]:
    return profiler.environment(scratch.of(NAME), 1, None)


def _read(scratch: Scratch) -> Found:
    """The sums over all threads of all programs that the profiler saw; none if it saw none, or not the whole."""
    profiles, unwritten = profiler.read(scratch.of(NAME))
    if not profiles or unwritten:
        return Found()
    threads = [thread for profile in profiles for thread in profile.threads]
    return Found(measured={PREFIX + kind: sum(map(seconds, threads)) for kind, seconds in KINDS.items()})


SOURCE = Source(NAME, _wanted, _environment, _read, gives="explain", first=True)
