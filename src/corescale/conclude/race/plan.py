# SPDX-License-Identifier: Apache-2.0
"""Which configurations the next block of a race launches. Arrays only.

The opening launches everything once, in small blocks, half of what the surrogate believes in: a first answer after a
few launches. The settings of an allocator that is behind without them come last. Then the leader meets those that it is
not yet known to be within the tolerance of, the ones that lag most behind the launches they will need. So near ties are
launched often, and what is far behind two to five times.

What is left of a budget may not pay for that. Then it goes where it most improves the answer (spending.py).
"""

import math

import numpy as np

from corescale.conclude.race import mixes, spending
from corescale.conclude.race.elimination import Columns
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.standing import Field, Standing, standing, to_come, worth_trying
from corescale.conclude.race.surrogate import Codes, believe
from corescale.conclude.stats import Floats
from corescale.declare.plan import TODAY_EVERY


def next_columns(field: Field, blocks: Floats, left: float = math.inf) -> Columns | None:
    """Columns of the next block, or None where the leader is proved or nothing more can be learnt.

    `left`: launches that may be made; at least 1.
    """
    if not np.isfinite(blocks).any():
        return first_columns(field, left)
    found = standing(field, blocks)
    untried, worth = np.flatnonzero(found.fit.counts == 0), worth_trying(field, found)
    next_ones = untried[worth[untried]] if worth[untried].any() else untried
    opening = max(_with_todays(next_ones.size) * OPTIONS.covering, found.launches.sum() * OPTIONS.reserved)
    if untried.size and opening <= left:
        return _opening(field, found, next_ones, spending.block_size(left))
    if not untried.size and found.bound <= field.tolerance:
        return None
    if untried.size or _with_todays(_proof(field, found)) > left:
        return _spent(found, left, worth | (found.fit.counts > 0))
    chosen = _lagging(field, found)
    return _with(chosen, found.best, *_surprise(found)) if chosen.size else None


def pays_for_all(blocks: Floats, left: float) -> bool:
    """Whether `left` launches are enough for what was not launched yet, with those of today's among them."""
    return _with_todays(int((~np.isfinite(blocks).any(axis=0)).sum())) <= left


def _with_todays(launches: float) -> float:
    """This number of launches and those of today's that come among them."""
    return launches * TODAY_EVERY / (TODAY_EVERY - 1)


def _proof(field: Field, found: Standing) -> float:
    """Launches that should suffice to prove the leader, if it stays; it takes part in all."""
    others = to_come(field, found)
    return OPTIONS.doubt * float(others.sum() + others.max())


def first_columns(field: Field, left: float = math.inf) -> Columns:
    """Today's launch, other allocators and thread counts alone, and others that have every level about equally often.

    As many as the budget has launches for; two at least. All where one block has room for them, so that whatever a
    block has in common hits all alike. None has settings of an allocator, unless all others have.
    """
    plain = field.without_settings
    plain = plain if plain.sum() > 1 else np.ones(field.size, dtype=np.bool_)
    most = int(max(2, min(OPTIONS.largest, left, plain.sum())))
    chosen = [field.today, *field.alone][:most]
    wanted = plain.sum() if plain.sum() <= OPTIONS.largest else OPTIONS.first_block
    while len(chosen) < min(wanted, most):
        chosen.append(_most_different(field.codes, chosen, plain))
    return np.array(sorted(chosen), dtype=np.intp)


def _most_different(codes: Codes, chosen: list[int], allowed: "np.typing.NDArray[np.bool_]") -> int:
    """The configuration whose levels those chosen have least often, and which has few in common with any of them."""
    same = codes[:, None, :] == codes[chosen][None, :, :]
    tie = np.random.default_rng(len(codes)).random(len(codes))
    cost = same.sum(axis=(1, 2)) + same.sum(axis=2).max(axis=1) / 2 + tie / 1000
    cost[chosen] = np.inf
    return int(np.argmin(np.where(allowed, cost, np.inf)))


def _opening(field: Field, found: Standing, untried: Columns, size: int) -> Columns:
    """What is tried alone; then the most hopeful of the untried, and as many drawn at random."""
    tried = int((found.fit.counts > 0).sum())
    many = size if size < OPTIONS.largest else max(size, int(OPTIONS.growth * tried))
    if untried.size <= many + OPTIONS.left_over:
        return np.asarray(untried)
    if alone := [c for c in field.alone if c in untried]:
        return np.array(alone[: OPTIONS.largest], dtype=np.intp)
    hope = _hope(field, found)
    return _half_drawn(found, untried[np.argsort(hope[untried], kind="stable")], many)


def _half_drawn(found: Standing, order: Columns, many: int) -> Columns:
    """That number of these, the first of them and about as many drawn at random from the others."""
    drawing = np.random.default_rng(found.rows[np.isfinite(found.rows)].view(np.uint64))
    first = many - int(OPTIONS.drawn * many + drawing.random())
    return np.concatenate([order[:first], drawing.permutation(order[first:])[: many - first]])


def _hope(field: Field, found: Standing) -> Floats:
    """Log times as low as they may be; of threads x ranks the surrogate is about what the overhead law leaves."""
    law = None if field.mixes is None else mixes.trend(field.mixes, found.fit.effects)
    if law is None:
        return found.belief.mean - found.belief.deviation
    about = believe(field.codes, found.rows - law, found.noise)
    return np.asarray(law + about.mean - about.deviation)


def _lagging(field: Field, found: Standing) -> Columns:
    """The unsettled configurations that have the smallest share of the common blocks that they will need."""
    c = found.best
    common = np.isfinite(found.rows[:, [c]] - found.rows).sum(axis=0)
    open_ones = np.flatnonzero((found.upper > field.tolerance) & (common < OPTIONS.last_look))
    share = (common / (common + to_come(field, found)))[open_ones]
    order = np.argsort(share, kind="stable")
    smallest = max(OPTIONS.smallest, open_ones.size // 2)
    if open_ones.size <= smallest:
        return open_ones
    last = max(share[order[0]] * OPTIONS.lagging, share[order[smallest - 1]])
    return np.asarray(open_ones[share <= last])


def _surprise(found: Standing) -> list[int]:
    """The fastest so far, while the surrogate does not believe it: if it is to lead, the others have met it already."""
    fastest = int(np.nanargmin(found.fit.effects))
    return [fastest] if found.fit.counts[fastest] <= OPTIONS.surprising else []


def _spent(found: Standing, left: float, allowed: "np.typing.NDArray[np.bool_]") -> Columns:
    """What is most telling; of what is new to the race half is drawn, whatever the surrogate says.

    The favourite takes the place of the least telling, as long as it may lead by the luck of one launch.
    """
    order, many = spending.most_telling(found, left, allowed)
    chosen, new = order[:many], found.fit.counts[order] == 0
    drawn = _half_drawn(found, order[new & allowed[order]], int(new[:many].sum()))
    chosen = np.concatenate([chosen[~new[:many]], drawn])
    if found.launches[found.favourite] < OPTIONS.again and found.favourite not in chosen:
        chosen = np.array([found.favourite, *chosen[:-1]], dtype=np.intp)
    return np.sort(chosen)


def _with(chosen: Columns, *others: int) -> Columns:
    return np.array(sorted({*chosen.tolist(), *others}), dtype=np.intp)
