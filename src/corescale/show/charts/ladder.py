# SPDX-License-Identifier: Apache-2.0
"""The ladder: steps from the slowest program to the fastest, each from where the one before ended."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corescale.conclude import stats
from corescale.conclude.stats import Interval
from corescale.show import text
from corescale.show.charts.model import Axis, Chart, Mark, Panel, Series, doubling, sure

FEWEST = 3
"""rungs: a ladder of two is one ratio"""
HOW = "Each step begins where the one before ended; whiskers: {confidence} intervals of all steps so far."


@dataclass(frozen=True, slots=True)
class Rung:
    """A program, and by how many times it is faster than the one before, and than the first."""

    label: str
    step: Interval
    total: Interval
    oversubscribed: bool = False


def rungs(
    labels: Sequence[str], logs: npt.NDArray[np.float64], oversubscribed: Sequence[bool], confidence: float
) -> Iterator[Rung]:
    """A rung for each label; `logs`: logarithm of time. Shape (blocks, labels)."""
    for k, (label, over) in enumerate(zip(labels, oversubscribed, strict=True)):
        step, total = (
            stats.speedup(stats.hodges_lehmann(logs[:, at] - logs[:, k], confidence)) for at in (max(0, k - 1), 0)
        )
        yield Rung(text.clean(label), step, total, over)


def ladder(name: str, title: str, caption: str, confidence: float, found: Sequence[Rung]) -> Chart:
    """A row for each rung, first on top, on a logarithmic axis: equal lengths are equal factors."""
    totals = [rung.total.estimate for rung in found]
    marks = [_mark(k, rung, begins) for k, (rung, begins) in enumerate(zip(found, (1.0, *totals), strict=False))]
    slows = [after < before for before, after in itertools.pairwise((1.0, *totals))]
    kinds = {"faster": False, "slower": True}
    series = (
        Series("steps", kind, tuple(mark for mark, slow in zip(marks, slows, strict=True) if slow is which), slot)
        for slot, (kind, which) in enumerate(kinds.items())
    )
    ends = [end for rung in found for end in (rung.total.estimate, *sure(rung.total)) if end is not None]
    return Chart(
        name=name,
        title=title,
        caption=f"{caption} {HOW.format(confidence=text.percent(confidence))}".strip(),
        alternative=text.clean(f"Speedup by steps. {'; '.join(mark.says for mark in marks)}."),
        x=Axis("", categories=tuple(rung.label for rung in found)),
        y=Axis("times as fast as the first", "times", log=True, ticks=doubling(min(ends), max(ends))),
        panels=(Panel(tuple(one for one in series if one.marks)),),
        references=(1.0,),
        turned=True,
        wide=True,
        height=0.42 * len(found) + 1.0,
    )


def _mark(k: int, rung: Rung, begins: float) -> Mark:
    over = ", oversubscribed" if rung.oversubscribed else ""
    low, high = sure(rung.total) if k else (None, None)
    said = f"{rung.label}: {_said(k, rung)}{over}"
    return Mark(rung.label, rung.total.estimate, said, low, high, begins=begins, written=_written(k, rung),
                hollow=rung.oversubscribed)  # fmt: skip


def _said(k: int, rung: Rung) -> str:
    if k == 0:
        return "the first"
    return f"{text.join(text.times(rung.step))} of the one before, {text.join(text.times(rung.total))} of the first"


def _written(k: int, rung: Rung) -> str:
    if k == 0:
        return "1x"
    return f"{text.join(text.times(rung.step))}, in all {text.times(rung.total)[0]}"
