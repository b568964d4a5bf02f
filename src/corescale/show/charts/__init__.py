# SPDX-License-Identifier: Apache-2.0
"""Charts: one model of what is shown (model.py), two renderers of it (static.py, interactive.py)."""

from pathlib import Path

import pandas as pd

from corescale.conclude.frame import frame
from corescale.conclude.scaling import Scan
from corescale.declare import outputs
from corescale.errors import StoreError
from corescale.show.charts import static
from corescale.show.charts.concluded import concluded
from corescale.show.charts.declared import declared
from corescale.show.charts.model import Chart
from corescale.show.result import Result

__all__ = ["Chart", "concluded", "declared", "of", "write"]


def of(result: Result, scan: Scan | None, rows: pd.DataFrame | None = None) -> tuple[Chart, ...]:
    """The declared charts in their order, then those of every run whose names are not taken.

    `rows` is the frame that declared charts read, by default that of the result's own records.
    """
    wanted = [output for output in result.experiment.outputs if isinstance(output, outputs.Chart)]
    if wanted and rows is None:
        rows = frame(result.records, result.experiment)
    made = [declared(chart, rows, result.experiment) for chart in wanted] if rows is not None else []
    own = [chart for chart in made if chart is not None]
    taken = {chart.name for chart in own}
    return (*own, *(chart for chart in concluded(result, scan) if chart.name not in taken))


def write(charts: tuple[Chart, ...], folder: Path) -> tuple[Path, ...]:
    """NAME.png and NAME.svg of every chart; the folder is made. StoreError where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(path for chart in charts for path in static.write(chart, folder))
    except OSError as error:
        raise StoreError(f"cannot write charts: {error.strerror}", where=str(folder)) from error
