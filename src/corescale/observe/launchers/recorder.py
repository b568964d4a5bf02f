# SPDX-License-Identifier: Apache-2.0
"""Makes the record of a launch from its reports and outputs."""

import math
from collections.abc import Mapping, Sequence

from corescale.declare import grid, paths
from corescale.declare.experiment import SHOWN, Experiment
from corescale.declare.plan import Invocation
from corescale.endings import telling
from corescale.machine import Machine
from corescale.observe.ranks import processes
from corescale.observe.scratch import Scratch
from corescale.observe.sources import Found
from corescale.observe.spawn import SpawnReport, bounds
from corescale.observe.spawn.spawner import TAIL
from corescale.records import Noise, Record, Status

AS_REPORTED = ("started", "wall", "wall_kind", "user", "system", "cpu_kind", "peak_memory", "peak_memory_kind",
               "tree_memory", "tree_memory_kind", "leftovers", "halted")  # fmt: skip
"""fields of a record that are copied from the report"""


class Recorder:
    """Makes the records of a run. Remembers the baseline's output."""

    def __init__(self, experiment: Experiment, machine: Machine, probes: tuple[str, ...]) -> None:
        self._experiment, self._machine, self._probes = experiment, machine, probes
        self._baseline = grid.baseline(experiment)
        self._references: dict[bool, str] = {}

    def recall(self, history: Sequence[Record]) -> None:
        """See Launcher.recall."""
        for record in history:
            if record.configuration == self._baseline and record.ok and record.output_hash:
                self._references.setdefault(record.phase == "rehearse", record.output_hash)

    def record(
        self,
        invocation: Invocation,
        report: SpawnReport,
        ranks: Mapping[int, SpawnReport],
        found: Found,
        scratch: Scratch,
    ) -> Record:
        """The record of a launch, from its `report`, the reports of its `ranks`, and what the sources found."""
        configuration = invocation.configuration
        output_hash = scratch.output_hash() if self._experiment.same_output and report.step is None else None
        shown = scratch.said(TAIL) if self._experiment.output == SHOWN else ""
        preloaded = () if scratch.launch.preload else None
        return invocation.record(
            self._experiment.hash,
            **{name: getattr(report, name) for name in AS_REPORTED},
            status=self._status(invocation, report, found, output_hash),
            output_hash=output_hash,
            exit_code=report.code,
            let_fail=self._experiment.lets_fail and report.status in ("failed", "signal"),
            proved=scratch.proved,
            bounds=bounds(report),
            processes=processes(ranks, found, preloaded),
            threads_asked=configuration.layout.p,
            tail=report.trouble or (shown + report.tail if shown else telling(report.tail, scratch.said(TAIL))),
            noise=_noise(report),
            oversubscribed=configuration.layout.of_node > self._machine.default_max_threads,
            sources=self._probes,
            **{**found.fields, "metrics": self._metrics(report, found, scratch)},
        )

    def _status(self, invocation: Invocation, report: SpawnReport, found: Found, output_hash: str | None) -> Status:
        if report.status == "cancelled":
            raise KeyboardInterrupt
        if report.status == "timeout" and (invocation.cap or math.inf) < (self._experiment.timeout or math.inf):
            return "capped"
        if report.status != "ok":
            return report.status
        if not all(found.fields.get("checks", {}).values()):
            return "check"
        if found.unproved:
            return "unproved"
        rehearsed = invocation.phase == "rehearse"
        if output_hash and invocation.configuration == self._baseline:
            self._references.setdefault(rehearsed, output_hash)
        return "ok" if self._references.get(rehearsed) in (None, output_hash) else "output-differs"

    def _metrics(self, report: SpawnReport, found: Found, scratch: Scratch) -> dict[str, float]:
        """The program's own metrics and the declared ones. A declared metric that its source did not give is absent,
        even if the program reports another number of that name. A lower bound is absent too, because it cannot show
        that a limit is met.
        """
        output, own = scratch.output, found.fields.get("metrics", {})
        lower = {name for name, bound in bounds(report).items() if bound == "lower"}
        measured = {
            "stdout-size": float(output.stat().st_size) if output is not None and paths.is_file(output) else 0.0,
        } | dict(found.measured)
        if "user" not in lower:
            measured["cpu-time"] = report.user + report.system
        if "peak_memory" not in lower:
            measured["peak-memory"] = float(report.peak_memory)
        declared = {name: measured[source] for name, source in self._experiment.metrics.items() if source in measured}
        return {**{name: value for name, value in own.items() if name not in self._experiment.metrics}, **declared}


def _noise(report: SpawnReport) -> Noise:
    waited = report.runqueue_wait or 0.0
    known = (report.steal, report.throttled, report.involuntary, waited, report.on_cpu, report.sampled)
    return Noise(*known, foreign=report.foreign, cpus=len(report.affinity) or None)


def keeps_output(experiment: Experiment) -> bool:
    """Whether the record needs standard output (its hash, size or end), regardless of the sources."""
    return experiment.output == SHOWN or experiment.same_output or "stdout-size" in experiment.metrics.values()
