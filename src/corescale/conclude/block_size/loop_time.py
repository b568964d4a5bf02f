# SPDX-License-Identifier: Apache-2.0
"""Our model in full: the time of a loop at any block, from its machine's constants and the loop's cost.

N iterations, each of time w, run in k = ceil(N / B) blocks on T threads of G L3 domains. A thread runs at most `share`
iterations and makes k / T claims. A claim moves one cache line, which takes `line` (`own` if there is only one thread),
and the counter serves one claim at a time. Cores differ in speed by `uneven`, so the tail is half of that fraction of a
block, on average.

    time(B) = fork + max(share w + (k / T) line, k line) + uneven B w / 2

line_travel.py has a closed form of the best block. Here the best block is searched for, so that the cost of blocks that
do not divide the loop evenly counts. The model is fitted to times, not to the time lost.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from corescale.conclude.block_size.columns import Case, Choose, Column
from corescale.conclude.stats import Floats

START: Mapping[str, float] = {
    "iteration_base": 50.0,
    "iteration_read": 0.4,
    "iteration_write": 0.4,
    "iteration_operation": 0.3,
    "fork_hot": 500.0,
    "claim_own": 10.0,
    "line_near": 80.0,
    "line_far": 200.0,
    "uneven": 0.05,
}
"""start values of the fit, and final values of constants that no column determines; nanoseconds, except the last"""
BELIEF = 0.005
"""cost of a factor e away from START, in log time of one cell; decides only what the columns do not determine"""
ALIKE = 0.02
"""blocks whose times are within this share of the least are equal; the middle one is far from bad blocks"""
OUTLIER = 0.03
"""error in log time from which a cell counts less"""


@dataclass(frozen=True)
class LoopTime:
    """Fitted to every time of every column, by logarithm."""

    computes: bool = False
    """whether operations take time; in the published tables the compiler had removed them"""
    unit: float = 1.0
    """nanoseconds in a unit of the columns' times"""

    def fit(self, columns: Sequence[Column]) -> Choose:
        """The block that `best` finds by the fitted constants."""
        constants = self.constants(columns)
        return lambda case: best(constants, self._seen(case))

    def constants(self, columns: Sequence[Column]) -> Mapping[str, float]:
        """What the fit finds, by name."""
        cells = [(self._seen(column.case), np.array(column.blocks, dtype=float)) for column in columns]
        measured = np.log(np.concatenate([self.unit * np.array(column.times) for column in columns]))
        start = np.log(list(START.values()))

        def residuals(logs: Floats) -> Floats:
            known = dict(zip(START, np.exp(logs), strict=True))
            said = np.log(np.concatenate([times(known, case, blocks) for case, blocks in cells]))
            return np.concatenate([said - measured, BELIEF * (logs - start)])

        found = least_squares(residuals, start, loss="soft_l1", f_scale=OUTLIER, bounds=(start - 8, start + 8))
        return dict(zip(START, np.exp(found.x).tolist(), strict=True))

    def determined(self, columns: Sequence[Column]) -> Mapping[str, float]:
        """The `constants` that change the time of some column; all others stay at START."""
        known = self.constants(columns)

        def said(constants: Mapping[str, float]) -> Floats:
            return np.concatenate(
                [times(constants, self._seen(one.case), np.array(one.blocks, dtype=float)) for one in columns]
            )

        fitted = said(known)
        doubled = {name: said({**known, name: 2 * value}) for name, value in known.items()}
        return {name: known[name] for name, others in doubled.items() if not np.allclose(others, fitted, rtol=1e-3)}

    def _seen(self, case: Case) -> Case:
        if self.computes:
            return case
        return Case(case.threads, case.groups, case.read, case.write, -math.inf, case.iterations)


def times(constants: Mapping[str, float], case: Case, blocks: Floats) -> Floats:
    """Nanoseconds of the loop at each block: blocks[b] -> [b]."""
    w = iteration_ns(constants, case)
    claims = np.ceil(case.iterations / blocks)
    if case.threads == 1:
        return case.iterations * w + claims * constants["claim_own"]
    line = constants["line_near"] + constants["line_far"] * (case.groups - 1)
    busy = share(case, blocks) * w + claims / case.threads * line
    tail = constants["uneven"] * np.minimum(blocks, case.iterations / case.threads) * w / 2
    return np.asarray(constants["fork_hot"] + np.maximum(busy, claims * line) + tail)


def iteration_ns(constants: Mapping[str, float], case: Case) -> float:
    """Nanoseconds of one iteration."""
    if case.iteration_ns:
        return case.iteration_ns
    bytes_ = constants["iteration_read"] * case.read + constants["iteration_write"] * case.write
    return constants["iteration_base"] + bytes_ + constants["iteration_operation"] * math.pow(1024, case.computation)


def share(case: Case, blocks: Floats) -> Floats:
    """The most iterations of a thread, if all take equally long; the last round may be short."""
    whole = np.floor(case.iterations / blocks)
    rest = case.iterations - whole * blocks
    rounds, over = np.floor(whole / case.threads), whole % case.threads
    return np.asarray(rounds * blocks + np.where(over > 0, blocks, rest))


def best(constants: Mapping[str, float], case: Case) -> float:
    """The middle, by logarithm, of the blocks from 1 to a thread's share whose times are within ALIKE of the least."""
    most = max(1, math.ceil(case.iterations / case.threads))
    blocks = np.unique(np.round(np.geomspace(1, most, 200)))
    said = times(constants, case, blocks)
    alike = np.log(blocks[said <= (1 + ALIKE) * said.min()])
    middle = (alike[0] + alike[-1]) / 2
    return float(np.exp(alike[int(np.argmin(np.abs(alike - middle)))]))
