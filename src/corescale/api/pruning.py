# SPDX-License-Identifier: Apache-2.0
"""The factors that tune need not try, according to a ledger of the baseline."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corescale.api import explained, explaining
from corescale.conclude.explain.changes import chances
from corescale.conclude.explain.explanation import Explanation
from corescale.declare import command_line, grid
from corescale.declare.catalogue import space
from corescale.declare.experiment import Experiment
from corescale.declare.request import TuneRequest
from corescale.errors import UsageError
from corescale.machine import Machine
from corescale.observe import launchers
from corescale.observe.profiled import Profiled
from corescale.show.explain_json import as_json

SHARE_OF_BUDGET = 0.1
"""largest share of a race's budget for a launch with 1 thread, which shows what is inflated"""


def unlikely(
    request: TuneRequest,
    words: Sequence[str],
    machine: Machine,
    note: explaining.Note,
    watch: explaining.Watch = explaining.unwatched,
) -> Mapping[str, str]:
    """The factors that need not be combined with others, and why; a note on each. Raises CorescaleError."""
    everything = command_line.tune(request, words, machine)
    if launchers.create(request.on, everything, machine, request.launching).virtual:
        raise UsageError("no launch could be explained", where="--explain", remedy=f"drop --on {request.on}")
    folder = explained.folder_of(request, everything)
    shown = _recent(folder, everything) if not request.fresh else None
    if shown is None:
        seen, made = _of_baseline(explaining.Launches(everything, machine, note, watch))
        if seen.report.status != "ok" or not seen.profiles:
            note("everything is raced: no launch was explained")
            return {}
        shown = as_json(made, words)
        explained.keep(shown, folder)
    shares = {row: float(found["share"]) for row, found in shown["rows"].items()}
    asked, argv = command_line.chosen(request), everything.commands[0].argv
    usual, _ = space.usual(argv, space.no_preload(argv))
    names = [factor.name for factor in everything.factors] if asked else usual
    one_thread = shown["threads"] > 1 == shown.get("most_threads")  # earlier versions did not keep it
    found = chances(names, shares, compared=shown["compared"], one_thread=one_thread)
    for chance in found:
        instead = "each level alone" if space.stands_alone(chance.factor) else "not raced"
        decided = "raced" if asked or chance.likely else instead
        note(f"{chance.factor}: {decided}: {'you named it' if asked else chance.why}")
    return {} if asked else {chance.factor: chance.why for chance in found if not chance.likely}


def _of_baseline(launches: explaining.Launches) -> tuple[Profiled, Explanation]:
    """The baseline, compared with a launch of 1 thread if the budget has room for that."""
    experiment = launches.experiment
    now = grid.baseline(experiment)
    seen = launches.one(now)
    room = SHARE_OF_BUDGET * (experiment.stop.budget or math.inf)
    fits = now.layout.p > 1 and seen.wall * now.layout.p <= room and seen.report.status == "ok"
    alone = next((c for c in grid.configurations(experiment) if c.layout.p == 1), None) if fits else None
    serial = launches.with_one_thread(alone)
    return explaining.explained([seen], now, [serial] if serial is not None else [])


def _recent(folder: Path, experiment: Experiment) -> Mapping[str, Any] | None:
    """The last result that is kept there, if the program is not newer."""
    program = shutil.which(experiment.commands[0].argv[0])
    newer = [one for one in explained.kept(folder) if program and one.stat().st_mtime > Path(program).stat().st_mtime]
    return explained.earlier(str(newer[-1]), "--explain")[1] if newer else None
