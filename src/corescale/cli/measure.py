# SPDX-License-Identifier: Apache-2.0
"""The pipeline that scan, tune and compare share: experiment -> run folder -> records."""

from pathlib import Path

import typer

from corescale.conclude.policy import Policy, confirmed, uniform
from corescale.conclude.race.race import race
from corescale.declare.command_line.request import RunRequest
from corescale.declare.experiment import Experiment
from corescale.errors import InterruptedRunError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe import run as loop
from corescale.show import progress, so_far

RUNS = Path("corescale-runs")


def policy_of(experiment: Experiment) -> Policy:
    """What decides about the next block: a race, blocks with a confirmation behind them, or blocks of everything."""
    if experiment.stop.rule == "race":
        return race(experiment)
    return confirmed(experiment) if experiment.verb == "tune" else uniform(experiment)


def measure(experiment: Experiment, policy: Policy, request: RunRequest, machine: Machine) -> store.Run:
    """Launch until the policy has enough; what is written survives any interruption."""
    launcher = launchers.create(request.on, experiment, machine, request.landscape or None)
    root = Path(request.out or RUNS)
    with (
        progress.create(experiment, quiet=request.quiet) as seen,
        store.open_run(experiment, machine, root, launcher.name) as folder,
    ):
        try:
            loop.run(experiment, folder, launcher, policy, seen)
        except KeyboardInterrupt:
            if said := so_far.known(folder.records, experiment):
                typer.echo(f"corescale: {said}", err=True)
            kept = f"what was measured is kept in {folder.path} (corescale report); the same command continues"
            raise InterruptedRunError(f"interrupted; {kept}") from None
        return folder.finished()
