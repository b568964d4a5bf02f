# SPDX-License-Identifier: Apache-2.0
"""The pipeline that scan, tune and compare share: experiment -> run folder -> records."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from corescale import cli
from corescale.cli import interruptions
from corescale.conclude.forecast import half, to_seal
from corescale.conclude.policy import Policy, confirmed, halved, uniform
from corescale.conclude.race.race import race
from corescale.declare.command_line.request import RunRequest
from corescale.declare.experiment import Experiment
from corescale.declare.plan import Block
from corescale.errors import AfterwardsError, InterruptedRunError, PreloadError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.observe import run as loop
from corescale.observe.store import sealing
from corescale.records import Record
from corescale.show import progress, so_far

RUNS = Path("corescale-runs")


def with_a_seal(policy: Policy, folder: store.Folder, experiment: Experiment) -> Policy:
    """The policy, with a forecast of the largest p written down before the first block that has it."""
    small = set(half(experiment)) if experiment.seal else set()
    if not small:
        return policy

    def next_block(records: Sequence[Record]) -> Block | None:
        block = policy(records)
        if block is not None and not small.issuperset(block.configurations) and not sealing.is_there(folder.path):
            sealing.write(folder.path, records, to_seal(records, experiment))
        return block

    return next_block


def policy_of(experiment: Experiment) -> Policy:
    """What decides about the next block: a race, blocks with a confirmation behind them, or blocks of everything."""
    if experiment.stop.rule == "race":
        return race(experiment)
    if experiment.seal:
        return halved(experiment, half(experiment))
    return confirmed(experiment) if experiment.verb == "tune" else uniform(experiment)


def loadable(declare: Callable[[PreloadError | None], Experiment], request: RunRequest, machine: Machine) -> store.Run:
    """What `declare` gives, measured; where no allocator can be preloaded and none was named, without them.

    `declare` is told what a launch showed of an allocator, and raises it where that was named.
    """
    experiment = declare(None)
    try:
        return measure(experiment, policy_of(experiment), request, machine)
    except PreloadError as error:
        experiment = declare(error)
        if not request.quiet:
            typer.echo(f"note: without other allocators: {error.what}", err=True)
        return measure(experiment, policy_of(experiment), request, machine)


def measure(experiment: Experiment, policy: Policy, request: RunRequest, machine: Machine) -> store.Run:
    """Launch until the policy has enough; what is written survives any interruption."""
    launcher = launchers.create(request.on, experiment, machine, request.landscape or None)
    root = Path(request.out or RUNS)
    with (
        progress.create(experiment, quiet=request.quiet) as seen,
        store.open_run(experiment, machine, root, launcher.name) as folder,
    ):
        try:
            loop.run(experiment, folder, launcher, with_a_seal(policy, folder, experiment), seen, began=cli.began())
        except KeyboardInterrupt as end:
            if said := so_far.known(folder.records, experiment):
                typer.echo(f"corescale: {said}", err=True)
            kept = f"what was measured is kept in {folder.path} (corescale report); the same command continues"
            raise InterruptedRunError(f"interrupted; {kept}", interruptions.exit_code(end)) from None
        except AfterwardsError as error:
            return replace(folder.finished(), late=error)
        return folder.finished()
