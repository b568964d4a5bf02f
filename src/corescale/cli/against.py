# SPDX-License-Identifier: Apache-2.0
"""`corescale compare --against RUN`: what is launched now, against a run of an older commit."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import typer

from corescale.api.results import loaded
from corescale.cli.output import finish
from corescale.conclude.answers.against import Against, against
from corescale.conclude.answers.verdict import WORST, Gates
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.request import CompareRequest
from corescale.errors import ExitCode, UsageError
from corescale.machine import Machine
from corescale.observe import environment
from corescale.observe.store import Run
from corescale.show import exchange, statements
from corescale.show.exchange import result_json
from corescale.show.result import Result


def earlier(request: CompareRequest, experiment: Experiment, machine: Machine, gates: Gates) -> Run:
    """The run of --against; raises UsageError, before anything is measured, if it can be no reference."""
    run = loaded(Path(request.against))
    if run.environment.get("fingerprint") != machine.fingerprint():
        what, remedy = "was measured on another machine", "measure both builds here: compare OLD NEW --gate 5%"
        raise UsageError(what, where=f"--against {request.against}", remedy=remedy)
    if run.experiment.response != experiment.response:
        raise UsageError(
            f"has {run.experiment.response}", where=f"--against {request.against}", remedy="use --response"
        )
    if not {*configurations(experiment)} & {record.configuration for record in run.records}:
        names = ", ".join(command.name for command in run.experiment.commands)
        remedy = f"it has {names}; name the command so: -n NAME"
        raise UsageError("has no launch of these commands", where=f"--against {request.against}", remedy=remedy)
    if "mean" in gates:
        raise UsageError("has gates on time, cpu and memory", where="--against", remedy="drop --gate mean")
    return run


def finished(there: Run, here: Run, shown: Result, request: CompareRequest, gates: Gates) -> None:
    """Print the answer and exit by the worst gate."""
    found = against(here.records, there.records, here.experiment, gates)
    changed = environment.differences(there.environment, here.environment)
    code = exit_code(found)
    if request.json:
        values = {"against": [asdict(one) for one in found], "changed": changed, "here": exchange.to_dict(shown)}
        typer.echo(json.dumps(result_json.finite(values), indent=2, allow_nan=False))
        raise typer.Exit(code)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(min(record.started for record in there.records)))
    for line in statements.against(found, f"the run of {when}", changed):
        typer.echo(line)
    finish(shown, replace(request, json=False), here.late, code)


def exit_code(found: Sequence[Against]) -> ExitCode:
    """As of a comparison: a launch that failed, then a gate that failed, then what is not decided."""
    worst = min((gated.verdict for one in found for gated in one.gates), key=WORST.index, default="passed")
    codes = {"crashed": ExitCode.PROGRAM, "failed": ExitCode.REGRESSION, "inconclusive": ExitCode.INCONCLUSIVE}
    unsure = not found or any(one.time.low is None for one in found)
    return codes.get(worst, ExitCode.INCONCLUSIVE if unsure else ExitCode.OK)
