# SPDX-License-Identifier: Apache-2.0
"""What a race knows before it has ended, in one sentence: while it runs, and when it is interrupted."""

from collections.abc import Sequence

from corescale.conclude.answers.recommendation import gain_in
from corescale.conclude.race.favourite import favourite
from corescale.conclude.race.records import Statement, statement
from corescale.declare.experiment import Experiment
from corescale.declare.grid import today
from corescale.records import Record
from corescale.show import text
from corescale.show.naming import label
from corescale.show.statements import nearness


def known(records: Sequence[Record], experiment: Experiment) -> str:
    """`so far` and the leader; empty where nothing was raced yet."""
    said = sentence(records, experiment)
    return f"so far {said}" if said else ""


def sentence(records: Sequence[Record], experiment: Experiment) -> str:
    """What the complete blocks say: the leader, what it gains, and the bound that holds at any moment."""
    if experiment.stop.rule != "race":
        return ""
    said = statement(records, experiment)
    if not said.tried:
        return ""
    name, gained = label(said.answer), _gained(records, experiment, said)
    return f"{name} leads{gained}, {_nearness(said)}"


def _nearness(said: Statement) -> str:
    """The bound, or the word that there is none."""
    if said.bound is None or said.bound > text.BOUND:
        return f"{said.tried} of {said.of} tried; nothing is proved yet"
    return nearness(said.bound, said.confidence)


def _gained(records: Sequence[Record], experiment: Experiment, said: Statement) -> str:
    """The gain in fresh blocks where there are any, else in the blocks that picked the leader."""
    now = today(experiment)
    if said.answer == now:
        return " (today's launch)"
    found = favourite(records, experiment, said)
    if found.gain is not None:
        blocks = f"{found.made} fresh blocks"
        return f", {text.join(text.times(found.gain.ratio))} faster than today's by {blocks}"
    seen = gain_in("measure", records, experiment, said.answer)
    return "" if seen is None else f", about {seen.estimate:.2f}x faster than today's, not confirmed"
