# SPDX-License-Identifier: Apache-2.0
"""Measuring as the command line does it: progress on standard error, the answer, and the signals that end a command."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TypeVar

import typer

from corescale import cli
from corescale.api import measuring
from corescale.api.results import result
from corescale.cli import interruptions, stdin
from corescale.cli.dry_run import dry_run
from corescale.cli.output import finish, must_be_writable, written
from corescale.conclude.answers.verdict import Gates
from corescale.declare.experiment import Experiment
from corescale.declare.request import Request, RunRequest
from corescale.errors import CorescaleError, InterruptedRunError, PreloadError
from corescale.machine import Machine
from corescale.observe import launchers, store
from corescale.show import progress
from corescale.show.exchange import ci

R = TypeVar("R", bound=Request)


def ready(request: R) -> tuple[R, Machine]:
    """The request, with piped input replaced by a file, and the machine to measure; raises UsageError."""
    must_be_writable(request)
    request = stdin.kept(request)
    return request, launchers.machine(request.on, request.launching)


def answered(declare: measuring.Declare, request: RunRequest, machine: Machine, gate: Gates | None = None) -> None:
    """Measure what is declared, show what follows, and exit; with --dry-run show only the plan."""
    if request.dry_run:
        return dry_run(declare(None), request, machine)
    run = loadable(declare, request, machine)
    return finish(result(run, machine, gate, every_variable=request.every_variable), request, run.late)


def loadable(
    declare: measuring.Declare, request: RunRequest, machine: Machine, began: float | None = None
) -> store.Run:
    """See measuring.loadable; unless `began` is given, the budget began with this process."""
    with _reported(declare, request), _interruptible():
        follow = partial(progress.create, quiet=request.quiet)
        return measuring.loadable(declare, request, machine, follow, cli.began() if began is None else began)


def measure(experiment: Experiment, request: RunRequest, machine: Machine, began: float | None = None) -> store.Run:
    """See measuring.measure; unless `began` is given, the budget began with this process."""
    with _interruptible():
        follow = partial(progress.create, quiet=request.quiet)
        return measuring.measure(experiment, request, machine, follow, cli.began() if began is None else began)


def as_planned(experiment: Experiment, unloadable: PreloadError | None) -> Experiment:
    """The experiment as planned. Its levels count as named by the user, so an allocator that cannot be preloaded here
    is an error."""
    if unloadable is not None:
        raise unloadable
    return experiment


@contextlib.contextmanager
def _reported(declare: measuring.Declare, request: RunRequest) -> Iterator[None]:
    """Writes an error that ends measuring into the JUnit XML too, whose readers may see nothing else."""
    try:
        yield
    except InterruptedRunError:
        raise
    except CorescaleError as error:
        if request.export_junit:
            written(request.export_junit, ci.junit_of_error(declare(None), error))
        raise


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Prints what is known by now, and exits with the code of the signal."""
    try:
        yield
        cli.measured()
    except InterruptedRunError as error:
        if error.known:
            typer.echo(f"corescale: {error.known}", err=True)
        error.exit_code = interruptions.exit_code(error.__cause__)
        raise
