# SPDX-License-Identifier: Apache-2.0
"""Where a launch most improves the answer, when what is left of a budget cannot pay for a proof. Arrays only.

The value of launching a configuration is by how much the expected time of the answer falls when one learns of it: the
knowledge gradient (Frazier, Powell, Dayanik 2008), for the number of launches of it that is worth most (Frazier, Powell
2010), since one launch alone may be too noisy to tell anything. The surrogate may mislead, so half of the expectation
is its own, and half that of one who thinks that a configuration tells nothing of the others.
"""

import numpy as np
import numpy.typing as npt
import scipy

from corescale.conclude.race.elimination import Columns
from corescale.conclude.race.options import OPTIONS
from corescale.conclude.race.standing import Standing
from corescale.conclude.race.surrogate import Belief
from corescale.conclude.stats import Floats


def block_size(left: float) -> int:
    """Configurations of the next block, while `left` launches may be made."""
    return int(max(min(2, left), min(OPTIONS.largest, left // OPTIONS.blocks)))


def most_telling(found: Standing, left: float, allowed: "npt.NDArray[np.bool_] | None" = None) -> tuple[Columns, int]:
    """All columns, the most valuable of those allowed first, and the number of them that a block is to have."""
    value = values(found, left)
    if allowed is not None:
        value = np.where(allowed, value, -np.inf)
    size = max(2, int((value > OPTIONS.worth * value.max()).sum()))
    return np.argsort(-value, kind="stable"), min(size, block_size(left))


def values(found: Standing, left: float) -> Floats:
    """Value of launching each configuration next: log time of the answer that it should save, per launch."""
    tried, most = found.fit.counts > 0, int(np.log2(max(1.0, min(OPTIONS.share * left, 1e6))))
    launches = np.asarray(2.0 ** np.arange(1 + most), dtype=np.float64)
    gains = [_gain(belief, tried, found.noise, launches) for belief in (found.belief, _alone(found))]
    return np.asarray(OPTIONS.trust * gains[0] + (1 - OPTIONS.trust) * gains[1])


def _alone(found: Standing) -> Belief:
    """Belief in which configurations have nothing in common: as spread as those tried, less their noise."""
    tried = found.fit.counts > 0
    effects, noise = found.fit.effects[tried], found.noise[tried] / found.launches[tried]
    spread = max(float(effects.var() - noise.mean()), OPTIONS.spread * float(effects.var())) + 1e-12
    mean, variance = np.full(tried.size, effects.mean()), np.full(tried.size, spread)
    mean[tried] += spread / (spread + noise) * (effects - effects.mean())
    variance[tried] = spread * noise / (spread + noise)
    return Belief(mean, np.diag(variance))


def _gain(belief: Belief, tried: npt.NDArray[np.bool_], noise: Floats, launches: Floats) -> Floats:
    mean, covariance, everyone = belief.mean, belief.covariance, np.arange(tried.size)
    first = int(np.argmin(np.where(tried, mean, np.inf)))
    second = int(np.argmin(np.where(everyone == first, np.inf, mean)))
    rival = np.where(everyone == first, second, first)
    variances = np.diag(covariance)
    known = np.sqrt(variances[:, None] + noise[:, None] / launches)
    learnt = np.abs(variances - covariance[everyone, rival])[:, None] / known + 1e-12
    behind = np.where(everyone == first, mean[second] - mean[first], mean - mean[first])
    return np.asarray((_expected_excess(behind[:, None] / learnt) * learnt / launches**OPTIONS.cost).max(axis=1))


def _expected_excess(z: Floats) -> Floats:
    """Expected excess of a standard normal over z, counted as 0 where it is below."""
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) - z * scipy.special.ndtr(-z))
