# SPDX-License-Identifier: Apache-2.0
"""`corescale compare`: a paired, interleaved verdict on two commands or builds."""

from functools import partial

import typer

from corescale.api.gating import gated
from corescale.cli.against import against
from corescale.cli.measure import answered, ready
from corescale.cli.options import takes
from corescale.declare import command_line
from corescale.declare.request import CompareRequest


@takes(CompareRequest)
def compare(words: list[str], request: CompareRequest) -> None:
    """Find which command is faster: corescale compare 'xz -T1 -k FILE' 'xz -T2 -k FILE'"""
    request, machine = ready(request)
    if request.against:
        return against(request, words, machine)
    declare, gate, said = gated(partial(command_line.compare, request, words, machine), request, words, machine)
    if said and not request.quiet:
        typer.echo(f"gate: {said}", err=True)
    return answered(declare, request, machine, gate)
