# SPDX-License-Identifier: Apache-2.0
"""The same block for every loop: what any law must beat."""

from collections.abc import Sequence
from dataclasses import dataclass

from corescale.conclude.block_size.columns import Case, Column
from corescale.conclude.block_size.regret import Choose


@dataclass(frozen=True)
class Constant:
    """Nothing is fitted."""

    block: int

    def fit(self, columns: Sequence[Column]) -> Choose:
        """Always `block`."""
        return self._choose

    def _choose(self, case: Case) -> float:
        return float(self.block)
