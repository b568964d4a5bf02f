# SPDX-License-Identifier: Apache-2.0
"""The interim answer of a race in one sentence, for progress and interruptions."""

from collections.abc import Sequence
from dataclasses import replace

from corescale.conclude.constraints import broken
from corescale.conclude.race.answer import RaceAnswer
from corescale.conclude.race.race import Race
from corescale.conclude.response import table
from corescale.conclude.stats import Interval, ratio_interval
from corescale.declare.equivalent import detected, ineffective
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
    name, gain = label(said.leader, ineffective(experiment, detected(records))), _gain(records, experiment, said)
    slower = gain is not None and gain.estimate < 1
    unproved = f"{said.tried} of {said.of} tried; nothing is proved yet"
    known = said.bound is not None and said.bound <= text.BOUND and not slower
    near = nearness(said.bound or 0.0, said.confidence) if known else unproved
    return f"{name} {_led(experiment, said, gain, name)}, {near}"


def _gain(records: Sequence[Record], experiment: Experiment, said: RaceAnswer) -> Interval | None:
    """The leader's gain in confirmation pairs, or, if there are none, in the blocks that picked it; None if unknown."""
    times = table(records, experiment.response)
    if said.leader == said.baseline:
        return None
    if said.gain is not None:
        return said.gain.ratio
    if not {said.leader, said.baseline} <= {*times.configurations}:
        return None
    seen = ratio_interval(times.column(said.baseline), times.column(said.leader))
    return replace(seen, low=None, high=None) if seen.n else None


def _led(experiment: Experiment, said: RaceAnswer, gain: Interval | None, name: str) -> str:
    """`leads`, and the leader's gain; `looked fastest` if these launches show it slower than the baseline."""
    now, pairs = current(untyped(experiment)), text.count(said.pairs, "confirmation pair")
    if said.leader == said.baseline:
        return "leads (the baseline)" if now in (name, label(said.leader)) else f"leads ({now})"
    if gain is None:
        return "leads"
    much, how = f"{versus(gain, experiment.response)} {now}", f" by {pairs}" if said.gain else ", not confirmed"
    much = f"{'' if said.gain else 'about '}{much}{how}"
    if gain.estimate >= 1:
        return f"leads, {much}"
    looked = text.words(experiment.response).best
    return f"looked {looked}, but {text.multiple(gain, experiment.response).verb} {much}"


def versus(gain: Interval, response: str) -> str:
    """`1.25x [1.10, 1.42] faster than`, `1.11x [0.33, 3.85] slower than`, `1.25x [1.10, 1.42] the m of`."""
    said = text.multiple(gain, response)
    return " ".join(part for part in (said.value, said.ends, said.word, said.link) if part)
