# SPDX-License-Identifier: Apache-2.0
"""What a study says: every configuration's time, weak scaling where it was asked for, and whether its findings hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.answers import reached
from corescale.conclude.answers.findings import Answer, answers
from corescale.conclude.answers.overheads import Modelled, overheads
from corescale.conclude.answers.scaling import Scan, scan
from corescale.conclude.frame import frame
from corescale.declare.experiment import Experiment
from corescale.declare.outputs import Finding, Overheads
from corescale.records import Record


@dataclass(frozen=True, slots=True)
class Study:
    """The scan of all configurations, and the answers in the order of the declared findings."""

    found: Scan
    answers: tuple[Answer | Modelled, ...]


def study(records: Sequence[Record], experiment: Experiment) -> Study:
    """The answer to a study, from its measured records."""
    rows = frame(records, experiment)
    said: list[Answer | Modelled] = []
    for output in experiment.outputs:
        if isinstance(output, Finding):
            said += (reached.answers if output.along else answers)(rows, experiment, output)
        elif isinstance(output, Overheads):
            said += overheads(rows, experiment, output)
    return Study(scan(records, experiment, laws=False), tuple(said))
