# SPDX-License-Identifier: Apache-2.0
"""The conclusion from the records of an experiment, for any verb: the answer, why measuring ended, and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude import stats
from corescale.conclude.answers.recommendation import Recommendation, recommend
from corescale.conclude.answers.scaling import Scan, scan
from corescale.conclude.answers.study import Study, study
from corescale.conclude.answers.verdict import Comparison, Gates, compare
from corescale.conclude.policy import Decision, decision
from corescale.conclude.warnings import warnings
from corescale.declare.experiment import Experiment
from corescale.records import Configuration, Record

Comparisons = tuple[Comparison, ...]
Conclusion = Scan | Recommendation | Comparisons | Study


@dataclass(frozen=True)
class Concluded:
    """The answer and what is shown with it."""

    conclusion: Conclusion
    stop: Decision | None
    """why measuring ended; None if it is not known"""
    warnings: tuple[str, ...]
    """warnings, one line each, which are printed next to the numbers"""
    noisy: frozenset[int]
    """positions, in the records, of the launches that are flagged as noisy"""
    undisturbed: Conclusion | None
    """the same answer without blocks that were disturbed from outside; None if none was, or too little is left"""


def conclude(
    records: Sequence[Record], experiment: Experiment, gate: Gates | None = None, *, finished: bool = False
) -> Concluded:
    """The answer follows only from the records, so it is the same on any machine. `gate`: what `compare` allows.

    `finished`: the run was not interrupted.
    """
    said = answer(records, experiment, gate) if experiment.stop.rule != "calm" else None
    ended = decision(records, experiment, said.answers if isinstance(said, Study) else None, finished=finished)
    width = None if experiment.stop.rule == "race" else ended.reached_width
    found = warnings(records, experiment, width)
    if said is None:
        said = answer(found.undisturbed if calm_decide(found.undisturbed, experiment) else records, experiment, gate)
        return Concluded(said, ended, found.lines, found.noisy, None)
    again, lines, fewer = None, found.lines, len(found.undisturbed) < len(records)
    if fewer and not _enough(records, found.undisturbed, experiment):
        lines += ("noise: without those blocks too few are left for a second answer",)
    elif fewer:
        # Confirmation pairs confirm the pick of all measuring blocks. The pick of fewer blocks was never confirmed.
        again = answer(found.undisturbed, experiment, gate, said.winner if isinstance(said, Recommendation) else None)
    return Concluded(said, ended, lines, found.noisy, again)


def calm_decide(undisturbed: Sequence[Record], experiment: Experiment) -> bool:
    """Whether only undisturbed blocks decide: if the stop rule asks for it, as gates do, and there are enough."""
    calm = len({record.block for record in undisturbed if record.timed}) >= experiment.stop.min_blocks
    return calm and experiment.stop.rule == "calm"


def answer(
    records: Sequence[Record],
    experiment: Experiment,
    gate: Gates | None = None,
    picked: Configuration | None = None,
) -> Conclusion:
    """The answer of the verb; for `tune` with `picked` as its winner, if that is given."""
    if experiment.scans:
        return scan(records, experiment)
    if experiment.compares:
        return compare(records, experiment, gate)
    if experiment.finds:
        return study(records, experiment)
    return recommend(records, experiment, picked)


def _enough(records: Sequence[Record], kept: Sequence[Record], experiment: Experiment) -> bool:
    """Whether the kept blocks allow an interval, in every phase that was measured."""
    phases = {record.phase for record in records if record.timed}
    blocks = {phase: len({record.block for record in kept if record.phase == phase}) for phase in phases}
    fewest = stats.fewest_blocks(experiment.stop.confidence)
    return all(count >= fewest for count in blocks.values())
