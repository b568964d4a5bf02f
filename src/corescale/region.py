# SPDX-License-Identifier: Apache-2.0
"""region.h for Python: a program reports its own region times, metrics and checks to the lab that measures it.

    from corescale.region import check, metric, region, work

    with region("solve"):
        ...
    metric("residual", 1e-9)
    check("converged", True)
    work(1000)

If the environment variable CORESCALE_RESULT names a directory when this module is imported, each process that has
something to report writes one file there when it exits, whole or not at all. If it is unset, nothing happens. The
module needs only the standard library and is thread-safe. It never raises because of measuring: if a file cannot be
written, it prints one line on stderr. `region` is also a decorator.

If CORESCALE_SPANS is also set, the file says when each thread was in each region. If there are more than 512 spans,
those with the shortest gaps between them are merged.

Limits: a region that is not left before the exit, or before its thread ends, is not reported. Neither is anything from
a process that ends by os._exit or a signal, unless it calls `write` before. A worker of `multiprocessing` reports at
its own end. A recursive visit counts as a call, but its time counts only once.
"""

import atexit
import contextlib
import json
import math
import os
import sys
import threading
import time
from multiprocessing import parent_process, util
from pathlib import Path
from typing import Any

__all__ = ["check", "metric", "region", "work", "write"]

_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")

_MOST_SPANS = 512


class _Visits:
    """One region in one thread."""

    __slots__ = ("calls", "depth", "gap", "nanoseconds", "spans", "start")

    def __init__(self) -> None:
        self.calls = self.depth = self.nanoseconds = self.start = self.gap = 0
        self.spans: list[tuple[int, int, int]] = []

    def keep(self, end: int) -> None:
        """Keeps the span until `end`, merged with the previous one if the gap between them is short."""
        self._append((threading.get_native_id(), self.start, end))
        while len(self.spans) > _MOST_SPANS:
            if self.gap > end - self.spans[0][1]:  # each is of another thread
                self.spans.pop()
                return
            self.gap = 4 * self.gap or 1000
            every, self.spans = self.spans, []
            for span in every:
                self._append(span)

    def _append(self, span: tuple[int, int, int]) -> None:
        thread, begin, end = span
        if self.spans and self.spans[-1][0] == thread and begin - self.spans[-1][2] <= self.gap:
            self.spans[-1] = (thread, self.spans[-1][1], end)
        else:
            self.spans.append(span)


class _State:
    """What this process has reported so far; a forked child starts anew."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.on = bool(self.directory)
        self.keeps_spans = "CORESCALE_SPANS" in os.environ
        self.started = time.monotonic_ns()
        self.lock = threading.Lock()
        self.places: list[tuple[threading.Thread, dict[str, _Visits]]] = []
        self.here = threading.local()
        self.metrics: dict[str, float] = {}
        self.checks: dict[str, bool] = {}
        self.work: float | None = None

    def visits(self, name: str) -> _Visits:
        """This thread's visits to `name`. The slot of an ended thread is used again, as in region.h."""
        regions: dict[str, _Visits] | None = getattr(self.here, "regions", None)
        if regions is None:
            regions = self.here.regions = self._place()
        return regions.setdefault(name, _Visits())

    def _place(self) -> dict[str, _Visits]:
        with self.lock:
            for index, (thread, regions) in enumerate(self.places):
                if not thread.is_alive():
                    for visits in regions.values():
                        visits.depth = 0  # close regions that the ended thread left open
                    self.places[index] = (threading.current_thread(), regions)
                    return regions
            self.places.append((threading.current_thread(), {}))
            return self.places[-1][1]


_state = _State(os.environ.get("CORESCALE_RESULT", ""))


class region(contextlib.ContextDecorator):  # noqa: N801  (reads as a statement: `with region("solve"):`)
    """Times the code inside it, per thread, under `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        if _state.on:
            visits = _state.visits(self.name)
            visits.depth += 1
            if visits.depth == 1:
                visits.start = time.monotonic_ns()

    def __exit__(self, *_: object) -> None:
        if not _state.on:
            return
        visits = _state.visits(self.name)
        if visits.depth == 0:
            return
        visits.depth -= 1
        visits.calls += 1
        if visits.depth == 0:
            now = time.monotonic_ns()
            visits.nanoseconds += now - visits.start
            if _state.keeps_spans:
                visits.keep(now)


def metric(name: str, value: float) -> None:
    """Report a number; the last one given counts. NaN and infinities are reported as absent."""
    if _state.on:
        with _state.lock:
            _state.metrics[str(name)] = float(value)


def check(name: str, ok: object) -> None:
    """Report whether something holds; once it is false, it stays false."""
    if _state.on:
        with _state.lock:
            _state.checks[str(name)] = _state.checks.get(str(name), True) and bool(ok)


def work(units: float) -> None:
    """Add units of work done."""
    if _state.on:
        with _state.lock:
            _state.work = (_state.work or 0.0) + float(units)


def write() -> None:
    """Write the file now. It is written again at the exit."""
    if not _state.on:
        return
    values = _contents()
    if values["work"] is None and not (values["regions"] or values["metrics"] or values["checks"]):
        return
    stem = f"rank-{values['rank']}.{values['pid']}.{_state.started:x}"
    temporary = Path(_state.directory) / f".{stem}.tmp"
    try:
        temporary.write_text(json.dumps(values, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")
        temporary.replace(Path(_state.directory) / f"{stem}.json")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        print(f"corescale: {temporary}: {why}; the results of this process are not recorded", file=sys.stderr)


def _contents() -> dict[str, Any]:
    with _state.lock:
        return {
            "format": 1,
            "rank": _rank(),
            "pid": os.getpid(),
            "regions": [
                {"name": name, "thread": number, "calls": visits.calls, "seconds": visits.nanoseconds / 1e9}
                | ({"spans": visits.spans} if _state.keeps_spans else {})
                for number, (_, regions) in enumerate(_state.places)
                for name, visits in list(regions.items())
                if visits.calls
            ],
            "metrics": {name: _finite(value) for name, value in _state.metrics.items()},
            "checks": _state.checks,
            "work": None if _state.work is None else _finite(_state.work),
        }


def _rank() -> int:
    for variable in _RANK_VARIABLES:
        with contextlib.suppress(ValueError):
            return int(os.environ.get(variable, ""))
    return 0


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _forked() -> None:
    global _state  # noqa: PLW0603  (fork copies the one state; the child's must be its own)
    _state = _State(_state.directory)


def _write_at_worker_end(_: object = None) -> None:
    util.Finalize(None, write, exitpriority=0)


if _state.on:
    os.register_at_fork(after_in_child=_forked)
    atexit.register(write)
    # A worker of multiprocessing ends without atexit, and clears its finalizers when it starts.
    if parent_process() is not None:
        _write_at_worker_end()
    util.register_after_fork(_write_at_worker_end, _write_at_worker_end)
