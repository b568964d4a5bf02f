# SPDX-License-Identifier: Apache-2.0
"""From what one launch gave to its record."""

from collections.abc import Callable, Mapping, Sequence

from corescale.declare import grid, paths
from corescale.declare.experiment import Experiment
from corescale.declare.plan import Invocation
from corescale.machine import Machine
from corescale.observe.ranks import processes
from corescale.observe.scratch import Scratch
from corescale.observe.sources import Found
from corescale.observe.spawn import SpawnReport
from corescale.records import COUNTS, Noise, Record, Status

TAIL = 4096
"""bytes of the end of stderr, or else of stdout, that a record keeps"""


class Recorder:
    """Makes the records of a run. Remembers today's output and the first launch's kind of peak memory."""

    def __init__(self, experiment: Experiment, machine: Machine, probes: tuple[str, ...]) -> None:
        self._experiment, self._machine, self._probes = experiment, machine, probes
        self._today = grid.today(experiment)
        self._references: dict[bool, str] = {}
        self._memory_kind: str = ""
        self._keep: Callable[[bytes], str] = lambda _: ""

    def open(self, history: Sequence[Record], keep: Callable[[bytes], str]) -> None:
        """Before the first launch; see Launcher.open."""
        self._keep = keep
        self._memory_kind = next((record.peak_memory_kind for record in history), "")
        for record in history:
            if record.configuration == self._today and record.ok and record.output_hash:
                self._references.setdefault(record.phase == "rehearse", record.output_hash)

    def record(
        self,
        invocation: Invocation,
        report: SpawnReport,
        ranks: Mapping[int, SpawnReport],
        found: Found,
        scratch: Scratch,
    ) -> Record:
        """Of a launch that ended as `report` says, of whose ranks `ranks` tells and in which sources found `found`."""
        configuration = invocation.configuration
        preloaded = () if scratch.launch.preload else None
        own = {
            "metrics": self._metrics(report, found, scratch),
            "sidecars": {name: self._keep(blob) for name, blob in found.blobs.items()},
        }
        return invocation.record(
            self._experiment.hash,
            started=report.started,
            wall=report.wall,
            status=self._status(invocation, report, found),
            exit_code=-report.signal if report.signal else report.exit_code or 0,
            user=report.user,
            system=report.system,
            cpu_kind=report.cpu_kind,
            proved=scratch.proved,
            peak_memory=report.peak_memory,
            peak_memory_kind=report.peak_memory_kind,
            processes=processes(ranks, found, preloaded),
            threads_asked=configuration.layout.p,
            output_hash=report.output_hash,
            tail=report.trouble or report.tail or scratch.said(TAIL),
            noise=_noise(report),
            oversubscribed=configuration.layout.p > self._machine.default_max_threads,
            sources=self._probes,
            leftovers=report.leftovers,
            doubts=self._let_pass(invocation, report),
            **{**found.fields, **own},
        )

    def _status(self, invocation: Invocation, report: SpawnReport, found: Found) -> Status:
        if report.status == "cancelled":
            raise KeyboardInterrupt
        if report.status == "timeout" and self._was_capped(invocation):
            return "capped"
        if report.status != "ok" and not self._lets_pass(report):
            return report.status
        if not all(found.fields.get("checks", {}).values()):
            return "check"
        if found.unproved:
            return "unproved"
        rehearsed = invocation.phase == "rehearse"
        if self._experiment.same_output and report.output_hash and invocation.configuration == self._today:
            self._references.setdefault(rehearsed, report.output_hash)
        if self._experiment.same_output and self._references.get(rehearsed) not in (None, report.output_hash):
            return "output-differs"
        return "ok"

    def _lets_pass(self, report: SpawnReport) -> bool:
        return self._experiment.lets_fail and report.status in ("failed", "signal")

    def _let_pass(self, invocation: Invocation, report: SpawnReport) -> tuple[str, ...]:
        """The doubt of a launch that failed and counts."""
        if not self._lets_pass(report):
            return ()
        how = f"was killed by signal {report.signal}" if report.signal else f"failed with exit code {report.exit_code}"
        return (f"{self._experiment.command(invocation.configuration).name} {how}, {COUNTS}",)

    def _was_capped(self, invocation: Invocation) -> bool:
        limit = self._experiment.timeout
        return invocation.cap is not None and (limit is None or invocation.cap < limit)

    def _metrics(self, report: SpawnReport, found: Found, scratch: Scratch) -> dict[str, float]:
        """The program's own and the declared ones. One that it did not give is absent, and so is peak memory of another
        kind than the first launch's.
        """
        output, own = scratch.output, found.fields.get("metrics", {})
        self._memory_kind = self._memory_kind or report.peak_memory_kind
        measured = {
            "stdout-size": float(output.stat().st_size) if output is not None and paths.is_file(output) else 0.0,
            "cpu-time": report.user + report.system,
        } | {f"output:{name}": value for name, value in own.items()}
        if report.peak_memory_kind == self._memory_kind:
            measured["peak-memory"] = float(report.peak_memory)
        declared = {name: measured[source] for name, source in self._experiment.metrics.items() if source in measured}
        return {**own, **declared}


def _noise(report: SpawnReport) -> Noise:
    waited = report.runqueue_wait or 0.0
    known = (report.steal, report.throttled, report.involuntary, waited, report.on_cpu, report.sampled)
    return Noise(*known, foreign=report.foreign, cpus=len(report.affinity) or None)


def keeps_output(experiment: Experiment) -> bool:
    """Whether a record needs standard output, for its hash or its size, whatever sources need it for."""
    return experiment.same_output or "stdout-size" in experiment.metrics.values()
