# SPDX-License-Identifier: Apache-2.0
"""Measuring as the command line does it: progress on standard error, and the signals that end a command."""

import contextlib
from collections.abc import Iterator
from functools import partial

import typer

from corescale import cli
from corescale.api import measuring
from corescale.cli import interruptions
from corescale.declare.experiment import Experiment
from corescale.declare.request import RunRequest
from corescale.errors import InterruptedRunError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show import progress


def loadable(declare: measuring.Declare, request: RunRequest, machine: Machine) -> store.Run:
    """See measuring.loadable."""
    with _interruptible():
        return measuring.loadable(declare, request, machine, _followed(request), cli.began())


def measure(experiment: Experiment, request: RunRequest, machine: Machine) -> store.Run:
    """See measuring.measure."""
    with _interruptible():
        return measuring.measure(experiment, request, machine, _followed(request), cli.began())


def _followed(request: RunRequest) -> measuring.Follow:
    return partial(progress.create, quiet=request.quiet)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Says what is known by now, and has the exit code of the signal."""
    try:
        yield
        cli.measured()
    except InterruptedRunError as error:
        if error.known:
            typer.echo(f"corescale: {error.known}", err=True)
        error.exit_code = interruptions.exit_code(error.__cause__)
        raise
