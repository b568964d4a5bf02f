# SPDX-License-Identifier: Apache-2.0
"""The tunable constants of a race, each with its reason. docs/race.md has them as a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RaceOptions:
    """`tune` always uses the defaults. Only the ablation study sets others (benchmarks/race_ablation.py)."""

    growth: float = 1.5
    """Blocks at a planned look, as a multiple of those at the look before. Each look has a share of the error."""
    lent: float = 4.0
    """Degrees of freedom that the other configurations lend to the variance of a pair. With none a race takes more
    launches; with more, a noisy configuration among quiet ones is eliminated by luck."""
    ranked: int = 20
    """Common blocks from which signed ranks replace the t bound; half for pairs. Bursts do not widen them."""
    level: float = 0.03
    """(Variance of the noise) / (variance of a level's effect), by which the surrogate shrinks an effect."""
    interaction: float = 0.1
    """The same for a configuration's own effect, beyond those of its levels."""
    rare_levels: float = 0.5
    """The share of a block that goes to those new ones whose levels are rarest, as the surrogate may mislead."""
    fewest_pairs: int = 6
    """The fewest confirmation pairs before the first look, if the budget pays for them."""
    most_pairs: int = 40
    """The most confirmation pairs before the first look."""
    lead_errors: float = 5.7
    """The first look is planned for the number of pairs at which the lead is this many standard errors. With 4, 98% of
    races would find a true lead at an error of 5%, but the observed lead is partly luck."""
    pairs_share: float = 0.25
    """Most confirmation pairs, of two launches each, for which a budget keeps room, per launch that it pays for."""
    cap: float = 3.0
    """A launch that takes this multiple of the fastest median is killed; noise alone does not slow a launch so much."""
    rehearsals: int = 3
    """Blocks of the smaller input."""
    checked: int = 6
    """Configurations besides the baseline that are launched in full to check the rehearsal."""


OPTIONS = RaceOptions()
