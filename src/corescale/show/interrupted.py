# SPDX-License-Identifier: Apache-2.0
"""What an interrupted race knows, in one sentence."""

from collections.abc import Sequence

from corescale.conclude.race_records import Statement, statement
from corescale.declare.study import Experiment
from corescale.records import Record
from corescale.show import text


def known(records: Sequence[Record], experiment: Experiment) -> str:
    """Of the complete blocks so far; empty where there is none, or nothing is raced."""
    if experiment.stop.rule != "race" or not any(record.ok for record in records):
        return ""
    return sentence(statement(records, experiment))


def sentence(said: Statement) -> str:
    """The leader, with the bound that holds at any moment or the word that there is none."""
    name = text.clean(said.answer.label)
    if said.bound is None:
        return f"so far {name} leads, {said.tried} of {said.of} tried; nothing is proved yet"
    return f"so far {name} leads, within {text.at_most(said.bound)} of the best at {text.percent(said.confidence)}"
