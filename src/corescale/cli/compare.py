# SPDX-License-Identifier: Apache-2.0
"""`corescale compare`: a paired, interleaved verdict on two commands or builds."""

from functools import partial

import typer

from corescale.api.gating import gated
from corescale.api.results import result
from corescale.cli import stdin
from corescale.cli.against import against
from corescale.cli.dry_run import dry_run
from corescale.cli.measure import loadable
from corescale.cli.options import takes
from corescale.cli.output import finish, must_be_writable
from corescale.declare import command_line
from corescale.declare.request import CompareRequest
from corescale.observe import launchers


@takes(CompareRequest)
def compare(words: list[str], request: CompareRequest) -> None:
    """Which command is faster: corescale compare 'xz -T1 -k FILE' 'xz -T2 -k FILE'"""
    must_be_writable(request)
    request = stdin.kept(request)
    machine = launchers.machine(request.on, request.launching)
    if request.against:
        return against(request, words, machine)
    declare, gate, said = gated(partial(command_line.compare, request, words, machine), request, words, machine)
    if said and not request.quiet:
        typer.echo(f"gate: {said}", err=True)
    if request.dry_run:
        return dry_run(declare(None), request, machine)
    run = loadable(declare, request, machine)
    return finish(result(run, machine, gate, every_variable=request.every_variable), request, run.late)
