# SPDX-License-Identifier: Apache-2.0
"""The interim answer of a race in one sentence, for progress and interruptions."""

from collections.abc import Sequence
from dataclasses import replace

from corescale.conclude.constraints import broken
from corescale.conclude.race.answer import RaceAnswer
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.conclude.stats import Interval, ratio_interval
from corescale.declare.experiment import Experiment
from corescale.declare.grid import untyped
from corescale.records import Record, origins
from corescale.show import text
from corescale.show.naming import current, label
from corescale.show.statements import nearness


def known(records: Sequence[Record], experiment: Experiment) -> str:
    """`so far` and the leader, marked if numbers were not measured; empty if nothing was raced yet."""
    said = sentence(records, experiment)
    return f"so far {marked(said, records)}" if said else ""


def marked(said: str, records: Sequence[Record]) -> str:
    """The sentence, marked if its numbers were not measured: `threads=8 takes 2.1 s so far (simulated)`."""
    marks = origins(records)
    return f"{said} ({', '.join(marks)})" if marks else said


def sentence(records: Sequence[Record], experiment: Experiment) -> str:
    """The state after the complete blocks: the leader, its gain, and the bound, which holds at any moment."""
    if experiment.stop.rule != "race":
        return ""
    said = Race.of(records, experiment).answer()
    if said.leader in broken(records, experiment):
        return "nothing that was tried meets the constraint"
    if not said.regrets:
        return ""
    unproved = f"{said.tried} of {said.of} tried; nothing is proved yet"
    near = unproved if said.bound is None or said.bound > text.BOUND else nearness(said.bound, said.confidence)
    return f"{label(said.leader)} leads{_gained(records, experiment, said)}, {near}"


def _gained(records: Sequence[Record], experiment: Experiment, said: RaceAnswer) -> str:
    """The gain in confirmation pairs, or, if there are none, in the blocks that picked the leader."""
    now = current(untyped(experiment))
    if said.leader == said.baseline:
        return f" ({now})" if now != label(said.leader) else " (the baseline)"
    if said.gain is not None:
        return (
            f", {versus(said.gain.ratio, experiment.response)} {now} by {text.count(said.pairs, 'confirmation pair')}"
        )
    times = table(records, experiment.response)
    if not {said.leader, said.baseline} <= {*times.configurations}:
        return ""
    seen = ratio_interval(times.column(said.baseline), times.column(said.leader))
    about = versus(replace(seen, low=None, high=None), experiment.response)
    return f", about {about} {now}, not confirmed" if seen.n else ""


def versus(gain: Interval, response: str) -> str:
    """`1.25x [1.10, 1.42] faster than`, `1.11x [0.33, 3.85] slower than`, `1.25x [1.10, 1.42] the m of`."""
    said = text.multiple(gain, response)
    return " ".join(part for part in (said.value, said.ends, said.word, said.link) if part)
