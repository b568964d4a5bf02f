# SPDX-License-Identifier: Apache-2.0
"""The constants of a race that could have other values, each with its reason. docs/race.md has them as a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RaceOptions:
    """The defaults are the race; others are for the ablation (benchmarks/race_ablation.py)."""

    growth: float = 1.5
    """Blocks at a planned look, as a multiple of those at the look before. Each look has a share of the error."""
    lent: float = 4.0
    """Degrees of freedom that the other configurations lend to the variance of a pair. With none a race takes more
    launches; with more, a noisy configuration among quiet ones is eliminated by luck."""
    ranked: int = 20
    """Common blocks from which signed ranks replace the t bound; half of it for confirmation pairs. Bursts and slow
    modes do not widen them."""
    level: float = 0.03
    """Variance of noise over that of a factor's level: how far the surrogate shrinks the effect of a level."""
    interaction: float = 0.1
    """The same for a configuration's own effect, beyond those of its levels."""
    rare_levels: float = 0.5
    """Share of a block of the opening for configurations whose levels were launched least often, because the surrogate
    may mislead."""
    fewest_pairs: int = 6
    """The fewest confirmation pairs before the first look, if the budget pays for them."""
    most_pairs: int = 40
    """The most confirmation pairs before the first look."""
    lead_errors: float = 5.7
    """The first look comes when the lead is this many standard errors. 4 would find it in 98% of races at an error of
    5%, but the lead is partly luck."""
    pairs_share: float = 0.25
    """A budget keeps room for confirmation pairs: at most this many for each launch that it pays for. A pair is two
    launches, so they may take half of it."""
    cap: float = 3.0
    """A launch that takes this multiple of the fastest median is killed: noise of that size is a fault."""
    rehearsals: int = 3
    """Blocks of the smaller input."""
    checked: int = 6
    """Configurations besides the baseline that are launched in full to check the rehearsal."""


OPTIONS = RaceOptions()
