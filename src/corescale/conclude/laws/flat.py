# SPDX-License-Identifier: Apache-2.0
"""T = a + b work at one number of threads: a does not grow with the work (starting, reading, tearing down).

Not in the table LAWS, whose laws are in p: this one is fitted over loads, at each p of a weak scan.
"""

import numpy as np

from corescale.conclude.laws.law import Law, Parameter

FLAT = Law(
    name="flat",
    formula="T = a + b work",
    terms=("flat", "growing"),
    basis=lambda work: np.stack([np.ones_like(work), work], axis=-1),
    parameters=(
        Parameter("a", "seconds that do not grow with the work", lambda x: x[..., 0], low=0.0, unit="s"),
        Parameter("b", "seconds for each unit of work", lambda x: x[..., 1], low=0.0, unit="s"),
    ),
    variable="work",
    least=0.0,
)
