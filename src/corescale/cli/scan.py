# SPDX-License-Identifier: Apache-2.0
"""`corescale scan`: time, speedup, efficiency, overhead and cores really used, per thread count."""

from functools import partial

from corescale.cli.measure import answered, ready
from corescale.cli.options import takes
from corescale.declare import command_line
from corescale.declare.request import ScanRequest


@takes(ScanRequest)
def scan(words: list[str], request: ScanRequest) -> None:
    """Measure how a program scales: corescale scan -- ./program {threads}"""
    request, machine = ready(request)
    answered(partial(command_line.scan, request, words, machine), request, machine)
