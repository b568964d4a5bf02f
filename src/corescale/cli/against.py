# SPDX-License-Identifier: Apache-2.0
"""`corescale compare --against RUN`: a command measured now, compared with an earlier run of it."""

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from corescale.api.results import concluded, loaded, must_be_as_real, result, run_name
from corescale.cli.dry_run import dry_run
from corescale.cli.measure import loadable
from corescale.cli.output import finish
from corescale.conclude.answers.verdict import Gates
from corescale.declare import command_line, quantities, template
from corescale.declare.grid import configurations
from corescale.declare.request import CompareRequest
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import store
from corescale.records import Configuration

CAVEAT = "was measured earlier: what the machine did differently since then counts as a difference"


def against(request: CompareRequest, words: list[str], machine: Machine) -> None:
    """Pairs the k-th block of this run with the k-th block of the earlier one. Makes as many blocks, unless -r says
    otherwise.

    Raises UsageError if the run is from another machine. Raises it too if the run has several commands, and this one is
    not among them.
    """
    if any(text.partition("=")[0] == "auto" for text in request.gate):
        raise UsageError("auto is for commands that are both measured now", where="--gate", remedy="write --gate 5%")
    gate = cast("Gates", quantities.gates(request.gate, request.response))
    if len(words) != 1:
        raise UsageError(
            f"{len(words)} commands are given", where="--against", remedy="give the one to compare with the run"
        )
    there = loaded(Path(request.against))
    must_be_as_real(there, request.on, f"--against {request.against}")
    before = _configuration(there, words[0])
    then = [record for record in there.records if record.configuration == before and record.phase == "measure"]
    blocks = len({record.block for record in then})
    runs = request.runs or blocks
    asked = replace(request, gate=[], runs=runs, fresh=True)
    declare = partial(command_line.compare, asked, words, machine)
    now = declare()
    if (count := len(configurations(now))) != 1:
        what = f"{count} configurations are given, and only one can be compared with the run"
        raise UsageError(what, where="--against", remedy="write the values into the command")
    if request.dry_run:
        return dry_run(now, request, machine)
    if there.environment.get("fingerprint") != machine.fingerprint():
        remedy = "measure there, or compare both commands here"
        raise UsageError("was measured on another machine", where=f"--against {request.against}", remedy=remedy)
    run = loadable(declare, asked, machine)
    old = shlex.join(there.experiment.command(before).argv)
    both = command_line.compare(
        replace(request, runs=runs, name=[run_name(there), *request.name]), [old, *words], machine
    )
    reference, other = configurations(both)
    records = [replace(record, configuration=reference) for record in then]
    records += [replace(record, configuration=other) for record in run.records if record.phase == "measure"]
    lines = dict.fromkeys([other], next(iter(result(run, machine).lines.values()), ""))
    changed = sorted({name for each in (there, run) for name in each.environment.get("changed", ())})
    found = concluded(records, both, lines, {**run.environment, "changed": changed}, gate, finished=True)
    pairs = f"of {runs} blocks now and {blocks} then, {min(runs, blocks)} are pairs"
    said = (f"{run_name(there)} {CAVEAT}", *([pairs] if runs != blocks else []), *found.warnings)
    return finish(replace(found, run=run.origin, runs={run_name(run): run.folder}, warnings=said), request, run.late)


def _configuration(there: store.Run, word: str) -> Configuration:
    """The configuration of that run that launched this command, or its only one."""
    every, asked = configurations(there.experiment), there.experiment
    launched = template.words(word, "command")
    alike = [each for each in every if tuple(asked.command(each).argv) == launched]
    if len(every) != 1 and len(alike) != 1:
        what = f"holds {len(every)} configurations, of which {len(alike)} launch this command"
        remedy = "give a run of this command alone: corescale compare -r 20 CMD"
        raise UsageError(what, where=f"--against {there.folder}", remedy=remedy)
    return (alike or every)[0]
