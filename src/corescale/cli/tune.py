# SPDX-License-Identifier: Apache-2.0
"""`corescale tune`: the fastest launch line, with how sure that is."""

import typer

from corescale.cli import stdin
from corescale.cli.dry_run import dry_run
from corescale.cli.measure import measure, policy_of
from corescale.cli.options import takes
from corescale.cli.output import finish, must_be_writable, result
from corescale.declare import command_line
from corescale.declare.command_line.request import TuneRequest
from corescale.errors import PreloadError
from corescale.machine import Machine


@takes(TuneRequest)
def tune(words: list[str], request: TuneRequest) -> None:
    """The fastest way to launch a program: corescale tune --allocators auto -- ./program {threads}"""
    must_be_writable(request)
    request = stdin.kept(request)
    machine = Machine.here()
    experiment = command_line.tune(request, words, machine)
    if request.dry_run:
        return dry_run(experiment, request, machine)
    try:
        run = measure(experiment, policy_of(experiment), request, machine)
    except PreloadError as error:
        experiment = command_line.tune(request, words, machine, unloadable=error)
        if not request.quiet:
            typer.echo(f"note: without other allocators: {error.what}", err=True)
        run = measure(experiment, policy_of(experiment), request, machine)
    return finish(result(run, machine), request)
