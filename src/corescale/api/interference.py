# SPDX-License-Identifier: Apache-2.0
"""Tests whether equal launches at once disturb each other, by pairs of a launch alone and a launch next to copies."""

import random
import statistics
from collections.abc import Callable

import numpy as np

from corescale.conclude import stats
from corescale.declare import plan
from corescale.declare.claimed_range import MARGIN
from corescale.declare.experiment import Experiment
from corescale.declare.grid import configurations
from corescale.declare.plan import Block
from corescale.endings import ending
from corescale.errors import InconclusiveError, ProgramError, UsageError
from corescale.observe.launchers import Launcher
from corescale.records import Configuration, Record
from corescale.show import text

PAIRS = 8
"""pairs of a launch alone and a launch in every slot; with fewer pairs no interval is narrow enough"""


def at_once(launcher: Launcher, chosen: Configuration, count: int) -> list[Record]:
    """The records of so many equal launches, each in a slot of its own."""
    block = Block("measure", (chosen,) * count, drawn=False)
    return list(launcher.launch(plan.invocations(block, 0, 0, chosen, plan.fresh_seed(), None)))


def must_not_disturb(experiment: Experiment, launcher: Launcher, jobs: int, note: Callable[[str], None]) -> None:
    """Launches the widest configuration alone and next to copies, in random order; raises InconclusiveError if they
    disturb.

    They do not if the interval of (time next to copies / time alone) ends at most MARGIN above 1.
    """
    widest = max(configurations(experiment), key=lambda each: each.layout.p)

    def seconds(count: int) -> float:
        """The mean time of so many launches at once."""
        made = at_once(launcher, widest, count)
        if failed := next((record for record in made if not record.ok), None):
            raise ProgramError(f"{widest.label} {ending(failed)}", where="--jobs", remedy="make it work first")
        mean = statistics.fmean(record.response(experiment.response) for record in made)
        if not mean > 0:
            what = "it is not above 0 in every launch, so that neighbours cannot be compared by it"
            raise UsageError(what, where=f"--jobs with {experiment.response}", remedy="leave --jobs out")
        return mean

    logs = []
    for _ in range(PAIRS):
        order = random.sample((1, jobs), 2)
        found = {count: seconds(count) for count in order}
        logs.append(np.log(found[jobs] / found[1]))
    ratio = stats.hodges_lehmann(np.array(logs), experiment.stop.confidence).map(np.exp)
    said = f"beside {text.count(jobs - 1, 'neighbour')} a launch takes {text.join(text.ratio(ratio))} of its time alone"
    if ratio.high is None or ratio.high > 1 + MARGIN:
        what = f"{said}; only an interval that ends by {1 + MARGIN:g} shows that they do not disturb each other"
        raise InconclusiveError(what, where="--jobs", remedy="leave it out, or ask for fewer at once")
    note(f"{said} ({PAIRS} pairs), so {jobs} are made at once")
