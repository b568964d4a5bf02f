# SPDX-License-Identifier: Apache-2.0
"""What a race knows before it has ended, in one sentence: while it runs, and when it is interrupted."""

from collections.abc import Sequence
from dataclasses import replace

from corescale.conclude.answers.recommendation import gain_in
from corescale.conclude.race.favourite import favourite
from corescale.conclude.race.records import Statement, statement
from corescale.conclude.stats import Interval
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
        return f", {versus(found.gain.ratio)} than today's by {text.count(found.made, 'fresh block')}"
    seen = gain_in("measure", records, experiment, said.answer)
    about = "" if seen is None else versus(replace(seen, low=None, high=None))
    return about and f", about {about} than today's, not confirmed"


def versus(gain: Interval) -> str:
    """`1.25x [1.10, 1.42] faster`, `1.11x [0.33, 3.85] slower`."""
    slower = gain.estimate < 1
    shown = text.join(text.times(gain.map(lambda ratio: 1 / ratio) if slower else gain))
    return f"{shown} {'slower' if slower else 'faster'}"
