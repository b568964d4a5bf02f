# SPDX-License-Identifier: Apache-2.0
"""Every constant of a race, each with its reason, and what follows from them. Texts that mention one print it."""

import itertools
from dataclasses import dataclass
from functools import cached_property

from corescale.declare.plan import TODAY_EVERY
from corescale.declare.stop import MOST_BLOCKS, growing

Scale = tuple[float, float, float]
"""standard deviations of log time: per factor, per pair of factors, of a configuration alone"""

_SHARES = tuple((pairs, alone) for pairs in (0.15, 0.6) for alone in (0.1, 0.6))


@dataclass(frozen=True)
class RaceOptions:
    """The defaults are the race; others are for experiments with it (benchmarks/race.py)."""

    # The bounds (elimination.py)
    prior: float = 8.0
    """Degrees of freedom at most that all configurations together lend to one. With fewer a race starts slowly; with
    more, one noisy configuration among quiet ones is lost by luck."""
    early_prior: float = 4.0
    """The same before `settled` common blocks: a quiet majority would settle a noisy best by luck."""
    settled: int = 4
    """Common blocks from which the whole prior is lent."""
    ranks: float = 2.0
    """Multiple of the fewest common blocks for a bound by signed ranks from which it is taken: with the fewest it is
    the largest difference of all, far wider than a t bound."""
    fence: float = 5.0
    """Multiple of the median residual at which outliers are counted in what configurations lend: beyond it are 7 in
    10,000 launches with normal noise."""
    first_look: int = 2
    """Common blocks of two configurations at their first comparison: one block has no variance."""
    sweeps: int = 8
    """Turns of the additive fit between blocks and configurations: the designs are nearly nested."""
    anchors: int = 4
    """Blocks of the opening with today's launch, at least, to take out a drift: fewer do not tell it from noise."""
    bends: int = 3
    """Degree, at most, of the polynomial that the drift of the opening is."""

    remembered: int = 8192
    """Looks that are kept, at most: what was found at one stays as it was, and to find it again takes time."""

    # The opening (plan.py)
    opening: int = 4
    """Configurations of the first block beside today's: enough for every level of a usual factor."""
    drawn: float = 0.5
    """Share of a block of the opening that is drawn, whatever the surrogate says, for it may mislead."""
    growth: float = 0.25
    """Share of those tried that a block of the opening has, where nothing limits it: a large grid is opened in time."""
    left_over: int = 2
    """Untried configurations, at most, that join the last block: one of their own would cost a launch of today's."""
    covering: float = 0.5
    """Share of what the opening still needs that must be left of a budget; else it is cut short."""
    reserved: float = 0.5
    """Launches left for each one made, at least, for the opening to go on: a third of a budget is not for it."""

    # The race (plan.py, race.py)
    doubt: float = 2.0
    """Multiple of the launches a proof is expected to need that must be left for it to be attempted."""
    smallest: int = 6
    """Configurations beside the leader in a block: its launches are shared among them. Half of those left, if more."""
    lagging: float = 2.0
    """A configuration joins a block while its progress is below this multiple of the slowest one's."""
    surprising: int = 2
    """Launches, at most, of a fastest configuration that the surrogate does not believe in, and that joins for it."""
    replan: int = 12
    """A choice of configurations is kept for a block in this number of those made: choosing takes time."""
    cap: float = 3.0
    """A launch that takes this multiple of the leader's median has lost: noise of that size is a fault."""
    first_cap: float = 10.0
    """The same multiple where the leader was launched once, and may have been fast by luck."""
    strikes: int = 2
    """Launches killed because they had lost, at least, for their configuration to have lost; it has where they are
    more than half of its launches. The best of all has bursts too, and the more launches the better it is."""

    # The confirmation (confirmation.py)
    at_first: float = 0.8
    """Share of the error for the first look at fresh blocks, which nearly always decides."""
    later: float = 1.5
    """Fresh blocks at a look, as a multiple of those at the look before."""
    missed: float = 0.01
    """Probability of missing the gain that the first look is planned for."""
    believed: float = 0.7
    """Share of a favourite's lead that is planned with: some of it is luck."""
    least_lead: float = 0.001
    """Lead, at least, that is planned with, as a logarithm."""
    longest: int = 40
    """Fresh blocks to the first look, at most."""
    for_ranks: int = 5
    """Fresh blocks to the first look beyond those of a normal test: of six, signed ranks ask that all are faster.
    Of gains as large as the lead the first look misses 0.5% then, down to 1.75 standard deviations of a pair, and 5%
    down to 0.7."""
    room: int = 6
    """Fresh blocks that a budget keeps room for: the fewest for a signed-rank interval at 95%."""
    room_share: float = 0.25
    """Share of a budget that is kept for as many of them as the leader's first look needs, where these are more."""
    room_beyond: float = 0.6
    """Such a share of what a budget has beyond two launches of everything, where that is more: in a large grid the
    best is to be found first."""
    fewest: int = 2
    """Fresh blocks that are worth keeping room for: one pair has no interval."""
    enough: float = 4.0
    """Degrees of freedom of a t interval of fresh pairs, below which it goes by the scatter of single launches: with
    two pairs and nothing else it would be 13 standard errors wide. A race that has fewer lends none, for the variance
    of so few residuals is too small on average."""
    unlike: float = 0.05
    """Level of the F test by which a favourite scatters more than today's launch, before the two lend each other."""

    # Who leads (standing.py)
    contenders: int = 20
    """Configurations, at most, of which the one leads that is nearest to a proof. They are as near to the first as it
    is uncertain. A leader that changes by chance among ties would meet all others anew."""
    unknown_variance: float = 0.01**2
    """Variance of log time before anything was launched twice. It only orders; bounds wait for an estimate."""
    steps: int = 3
    """Steps from one of today's launches to the next, at least, for an estimate of the noise before that."""
    planned_freedom: float = 30.0
    """Degrees of freedom of the bounds that are planned with; those to come have about as many."""
    nearest: float = 0.25
    """Share of the tolerance that a comparison is planned to have to tell, at least: an exact tie never ends."""
    simpler: float = 2.0
    """Tolerances behind the favourite, at most, of a configuration that may be the answer for being simpler."""

    # A budget that cannot pay for the proof (spending.py)
    blocks: int = 4
    """Blocks that what is left is divided into: what comes later is chosen better."""
    share: float = 0.25
    """Share of what is left that is thought of for one configuration, at most."""
    cost: float = 0.3
    """Power of the launches that their value is divided by: 1 would count them all, but they need not be made."""
    worth: float = 0.3
    """Share of the highest value from which a configuration joins the block."""
    trust: float = 0.5
    """Probability that the surrogate is right."""
    again: int = 2
    """Launches of the favourite, at least, before others are tried: of many, the fastest once was fast by luck."""
    spread: float = 0.1
    """Share of the variance between those tried that is real, at least, however noisy they are."""

    # The surrogate (surrogate.py)
    outlying: int = 3
    """Launches of a configuration from which one of them is an outlier: of two, either may be."""
    scales: tuple[Scale, ...] = (
        (0.003, 0.003, 0.003),
        *((main, main * pairs, main * alone) for main in (0.02, 0.1, 0.4) for pairs, alone in _SHARES),
    )
    """Scales among which the likelihood chooses: nothing matters, or factors by 2, 10 or 40%."""
    turns: int = 4
    """Turns in which configurations and blocks are estimated."""
    blocks_differ: float = 0.1
    """Variance of blocks in that of a launch, as a first guess."""
    blocks_differ_least: float = 0.001
    """Variance of blocks in that of a launch, at least, whatever the launches say."""

    # The rehearsal (rehearsal.py)
    rehearsals: int = 3
    """Blocks of the smaller input."""
    checked: int = 6
    """Configurations launched in full to check the ranking, beside today's."""
    checks: int = 2
    """Blocks of them."""
    fewest_checked: int = 3
    """Configurations that must have succeeded in both: of two, one order in two agrees by chance."""
    agreeing: float = 0.9
    """Share of the pairs told apart in the rehearsal that must be in the same order in full."""
    told_apart: float = 2.0
    """Tolerances between two configurations that the rehearsal tells apart."""
    margin: float = 0.10
    """Log time behind the first, at least, before a configuration is left out."""
    moved: float = 2.0
    """That log time as a multiple of the largest shift of a checked ratio."""

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """Common blocks of two configurations at which they are compared; after the last nothing more is learnt."""
        return tuple(itertools.takewhile(lambda n: n <= MOST_BLOCKS, growing(self.first_look)))

    @property
    def last_look(self) -> int:
        """The last of them."""
        return self.looks[-1]

    @property
    def first_block(self) -> int:
        """Configurations of the first block, today's among them."""
        return self.opening + 1

    @property
    def first_answer(self) -> int:
        """Launches to a first answer: today's alone, then the first block."""
        return 1 + self.first_block

    @property
    def largest(self) -> int:
        """Configurations of a block, at most, that today's launch need not interrupt."""
        return TODAY_EVERY - 1


OPTIONS = RaceOptions()
