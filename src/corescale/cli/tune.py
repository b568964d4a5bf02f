# SPDX-License-Identifier: Apache-2.0
"""`corescale tune`: the fastest launch line, with how sure that is."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from corescale.api.measuring import RUNS
from corescale.cli.measure import answered, as_planned, ready
from corescale.cli.options import takes
from corescale.cli.output import note
from corescale.declare import command_line
from corescale.declare.command_line.checks import must_go_on
from corescale.declare.request import TuneRequest
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import store
from corescale.show.progress import Line


@takes(TuneRequest)
def tune(words: list[str], request: TuneRequest) -> None:
    """Find the fastest way to launch a program: corescale tune --allocators auto -- ./program {threads}"""
    request, machine = ready(request)
    if request.more:
        return more(words, request, machine)
    unlikely = _unlikely(request, words, machine) if request.explain and not request.dry_run else None
    return answered(partial(command_line.tune, request, words, machine, unlikely=unlikely), request, machine)


def _unlikely(request: TuneRequest, words: list[str], machine: Machine) -> Mapping[str, str]:
    """The factors that can hardly matter, as a profiled launch shows. The profiler's modules are loaded only here."""
    from corescale.api import pruning  # noqa: PLC0415

    return pruning.unlikely(request, words, machine, note, Line(quiet=request.quiet))


def more(words: list[str], request: TuneRequest, machine: Machine) -> None:
    """Continue the last tune, with twice its budget or up to the budget that is named; raises UsageError if there is
    none."""
    must_go_on(request)
    made = _last(words, Path(request.out or RUNS))
    stop, experiment = made.experiment.stop, made.experiment
    longer = stop.longer(request.budget)
    if made.finished and not store.goes_further(stop, longer):
        where = f"--more --budget {request.budget}"
        raise UsageError(f"the run already had {stop.in_words}", where=where, remedy="name a larger one")
    timeouts = {"timeout": longer.budget} if experiment.timeout == stop.budget else {}
    wider = experiment.model_copy(update={"stop": longer, **timeouts})
    asked = replace(request, on=made.on)
    return answered(partial(as_planned, wider), asked, machine)


def _last(words: list[str], root: Path) -> store.Run:
    """The last run of a tune there; raises UsageError if there is none, or if a command was typed."""
    last = max(root.glob("tune-*/[!.]*/records.jsonl"), key=lambda path: path.stat().st_mtime, default=None)
    if words or last is None:
        what = "continues the last run, and takes no command" if words else f"there is no tune in {root}"
        raise UsageError(what, where="--more", remedy="corescale tune -- COMMAND begins one")
    made = store.load(last.parent)
    if not made.all_records:
        raise UsageError(f"{last.parent} has no launch yet", where="--more", remedy="give its command again")
    return made
