# SPDX-License-Identifier: Apache-2.0
"""Which block size a loop should claim, by several laws, and the time that each law's choice loses.

A law is fitted to columns (one case timed at several blocks) and then chooses a block for any case. `LAWS` is the
table; `regret.py` scores them in-sample, with one set of replicates held out, and with one platform held out.
"""

from collections.abc import Mapping

from corescale.conclude.block_size.columns import Case, Column, columns
from corescale.conclude.block_size.constant import Constant
from corescale.conclude.block_size.line_travel import LineTravel
from corescale.conclude.block_size.loop_time import LoopTime
from corescale.conclude.block_size.published import Example, Published, Trained, examples
from corescale.conclude.block_size.regret import HOLD_OUT, BlockLaw, Score, scored

LAWS: Mapping[str, BlockLaw] = {
    "published": Published(),
    "published form, squared loss": Trained("squared"),
    "published form, robust loss": Trained("robust"),
    "published form, time lost": Trained("time"),
    "line travel": LineTravel(),
    "loop time": LoopTime(),
    "constant 16": Constant(16),
    "constant 32": Constant(32),
}

__all__ = ["HOLD_OUT", "LAWS", "BlockLaw", "Case", "Column", "Example", "Score", "columns", "examples", "scored"]
