# SPDX-License-Identifier: Apache-2.0
"""`corescale study run --replay`: measures the plan of a report or a run again here, and shows what differs."""

import json
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import typer

from corescale.api.results import loaded, machine_name, must_be_as_real, result
from corescale.cli.dry_run import dry_run
from corescale.cli.measure import as_planned, loadable
from corescale.cli.output import exit_code, finish, say
from corescale.conclude.answers.several_machines import differences
from corescale.declare import quantities
from corescale.declare.experiment import Experiment
from corescale.declare.request import StudyRequest
from corescale.declare.stop import Stop
from corescale.errors import UsageError
from corescale.observe import launchers
from corescale.show import exchange, statements
from corescale.show.exchange import result_json


def replay(given: Path, request: StudyRequest) -> None:
    """Measures the run's plan here, and prints (time here / time there) for each configuration."""
    if request.levels or request.command or request.until_decided or request.outputs:
        remedy = "drop --levels, --command, --until-decided and --outputs"
        raise UsageError("launches what was launched, and says what differs", where="--replay", remedy=remedy)
    there = loaded(given)
    must_be_as_real(there, request.on, str(given))
    experiment = _limited(there.experiment, request.runs)
    machine = launchers.machine(request.on, request.launching)
    if request.dry_run:
        return dry_run(experiment, request, machine)
    run = loadable(partial(as_planned, experiment), replace(request, fresh=True), machine)  # never the replayed one
    found, shown = differences(run.records, there.records, experiment), result(run, machine)
    if request.json:
        values = result_json.finite({"differences": [asdict(one) for one in found], "here": exchange.to_dict(shown)})
        typer.echo(json.dumps(values, indent=2, allow_nan=False))
        sys.exit(exit_code(shown.conclusion))
    for line in statements.differences(found, machine_name(there.environment), experiment):
        say(line)
    return finish(shown, replace(request, json=False), run.late)


def _limited(experiment: Experiment, runs: int | None) -> Experiment:
    """Exactly that many blocks, if a number was given; raises UsageError for one that makes no sense."""
    if runs is None:
        return experiment
    quantities.runs(runs, "-r")
    stop = Stop(rule="replicates", min_blocks=runs, max_blocks=runs, confidence=experiment.stop.confidence)
    return experiment.model_copy(update={"stop": stop})
