# SPDX-License-Identifier: Apache-2.0
"""Which configurations the next block of a race launches. Arrays only.

The opening launches everything once, in small blocks, what the surrogate believes in first: a first answer after eight
launches. Then the leader meets those that it is not yet known to be within the tolerance of, the ones that lag most
behind the launches they will need. So near ties are launched often, and what is far behind two to five times.
"""

import numpy as np
from scipy.special import stdtrit

from corescale.conclude import elimination
from corescale.conclude.elimination import Columns
from corescale.conclude.standing import UNKNOWN_VARIANCE, Field, Standing, standing
from corescale.conclude.stats import Floats
from corescale.conclude.surrogate import Codes
from corescale.declare.plan import TODAY_EVERY

OPENING = 7
"""configurations of the first block besides today's"""
RIVALS = 3
"""tried configurations at most that an opening block launches again"""
EXPLORING = 0.25
"""share of an opening block that is drawn, whatever the surrogate says: it may mislead"""
LEFT_OVER = 2
"""untried configurations at most that join the last opening block: a block of their own costs two launches besides"""
SMALLEST = 6
"""configurations besides the leader in a block, or half of those left: the leader's launches are shared among them"""
LAGGING = 2.0
"""who has less than so many times the progress of the last takes part"""
SURPRISING = 2
"""launches at most of one that takes part because it was the fastest, whatever the surrogate says"""
REPLAN = 12
"""a block's choice is kept until there is a twelfth more of them"""


def next_columns(field: Field, blocks: Floats) -> Columns | None:
    """Columns of the next block, or None where the leader is proved or nothing more can be learnt."""
    if not np.isfinite(blocks).any():
        return first_columns(field.codes, field.today)
    found = standing(field, blocks)
    untried = np.flatnonzero(found.fit.counts == 0)
    if untried.size:
        return _with(_opening(found, untried), found.best, field.today)
    if found.bound <= field.tolerance:
        return None
    chosen = _lagging(field, found)
    return _with(chosen, found.best, *_surprise(found)) if chosen.size else None


def with_today_due(columns: Columns, blocks: Floats, today: int) -> Columns:
    """The block with today's launch, unless the next block can bring it within TODAY_EVERY launches.

    Orders are drawn, so the last block may have begun with it and the next one may end with it.
    """
    counts = np.isfinite(blocks).sum(axis=1)
    having = np.flatnonzero(np.isfinite(blocks[:, today]))
    since = counts[having[-1] :].sum() - 1 if having.size else TODAY_EVERY
    return _with(columns, today) if since + 2 * columns.size >= TODAY_EVERY else columns


def first_columns(codes: Codes, today: int) -> Columns:
    """Today's launch and others that have every level about equally often and few levels in common."""
    factors = np.arange(codes.shape[1])
    used = np.zeros((codes.shape[1], codes.max(initial=0) + 1))
    alike = np.zeros(len(codes))
    tie = np.random.default_rng(len(codes)).random(len(codes))
    chosen = [today]
    while len(chosen) < min(OPENING + 1, len(codes)):
        used[factors, codes[chosen[-1]]] += 1
        alike = np.maximum(alike, (codes == codes[chosen[-1]]).sum(axis=1))
        cost = used[factors, codes].sum(axis=1) + alike / 2 + tie / 1000
        cost[chosen] = np.inf
        chosen.append(int(np.argmin(cost)))
    return np.array(sorted(chosen), dtype=np.intp)


def _opening(found: Standing, untried: Columns) -> Columns:
    """The most hopeful of the untried, and those tried that may yet be faster than the leader: it may lead by luck."""
    hope = found.belief.mean - found.belief.deviation
    rivals = np.flatnonzero((found.fit.counts > 0) & (hope < found.belief.mean[found.best]))
    rivals = rivals[np.argsort(hope[rivals], kind="stable")][:RIVALS]
    many = max(OPENING - rivals.size, (found.fit.counts > 0).sum() // 4)
    many = untried.size if untried.size <= many + LEFT_OVER else many
    order = untried[np.argsort(hope[untried], kind="stable")]
    hopeful = many - int(EXPLORING * many)
    others = np.random.default_rng(untried.size).permutation(order[hopeful:])[: many - hopeful]
    return np.concatenate([rivals, order[:hopeful], others])


def _lagging(field: Field, found: Standing) -> Columns:
    """Of those not settled, the ones with the smallest share of the common blocks that they will need."""
    c = found.best
    common = np.isfinite(found.rows[:, [c]] - found.rows).sum(axis=0)
    open_ones = np.flatnonzero((found.upper > field.tolerance) & (common < elimination.LOOKS[-1]))
    share = (common / _needed(field, found))[open_ones]
    order = np.argsort(share, kind="stable")
    smallest = max(SMALLEST, open_ones.size // 2)
    if open_ones.size <= smallest:
        return open_ones
    last = max(share[order[0]] * LAGGING, share[order[smallest - 1]])
    return np.asarray(open_ones[share <= last])


def _surprise(found: Standing) -> list[int]:
    """The fastest so far, while the surrogate does not believe it: if it is to lead, the others have met it already."""
    fastest = int(np.nanargmin(found.fit.effects))
    return [fastest] if found.fit.counts[fastest] <= SURPRISING else []


def _needed(field: Field, found: Standing) -> Floats:
    variances = np.where(found.fit.freedom > 0, found.fit.variances, UNKNOWN_VARIANCE) + 1e-12
    gap = np.maximum(found.belief.mean - found.belief.mean[found.best], 0.0) + field.tolerance
    return np.asarray(stdtrit(30.0, 1 - field.tail) ** 2 * (variances + variances[found.best]) / gap**2)


def _with(chosen: Columns, *others: int) -> Columns:
    return np.array(sorted({*chosen.tolist(), *others}), dtype=np.intp)
