# SPDX-License-Identifier: Apache-2.0
"""`corescale scan`: time, speedup, efficiency, overhead and cores really used, per thread count."""

from functools import partial

from corescale.api.results import result
from corescale.cli import stdin
from corescale.cli.dry_run import dry_run
from corescale.cli.measure import loadable
from corescale.cli.options import takes
from corescale.cli.output import finish, must_be_writable
from corescale.declare import command_line
from corescale.declare.request import ScanRequest
from corescale.observe import launchers


@takes(ScanRequest)
def scan(words: list[str], request: ScanRequest) -> None:
    """How a program scales: corescale scan -- ./program {threads}"""
    must_be_writable(request)
    request = stdin.kept(request)
    machine = launchers.machine(request.on, request.launching)
    declare = partial(command_line.scan, request, words, machine)
    if request.dry_run:
        return dry_run(declare(), request, machine)
    run = loadable(declare, request, machine)
    return finish(result(run, machine, every_variable=request.every_variable), request, run.late)
