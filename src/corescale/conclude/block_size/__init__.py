# SPDX-License-Identifier: Apache-2.0
"""Which block size a loop should claim, by several models, and the time that each model's choice loses.

A model is fitted to columns (one case timed at several blocks) and then chooses a block for any case. `MODELS` is the
table; `regret.py` scores them in-sample, with one set of replicates held out, and with one platform held out.
"""

from collections.abc import Mapping

from corescale.conclude.block_size.columns import Case, Column, columns
from corescale.conclude.block_size.line_travel import LineTravel
from corescale.conclude.block_size.loop_time import LoopTime
from corescale.conclude.block_size.published import Constant, Example, Published, Trained, examples
from corescale.conclude.block_size.regret import HOLD_OUT, BlockModel, Score, scored

MODELS: Mapping[str, BlockModel] = {
    "published": Published(),
    "published form, squared loss": Trained("squared"),
    "published form, robust loss": Trained("robust"),
    "published form, time lost": Trained("time"),
    "line travel": LineTravel(),
    "loop time": LoopTime(),
    "constant 16": Constant(16),
    "constant 32": Constant(32),
}

__all__ = ["HOLD_OUT", "MODELS", "BlockModel", "Case", "Column", "Example", "Score", "columns", "examples", "scored"]
