# SPDX-License-Identifier: Apache-2.0
"""Charts: a model of what is shown (model.py), and its picture (drawing.py)."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from corescale.conclude.answers.scaling import Scan
from corescale.conclude.answers.study import Study
from corescale.conclude.frame import foreseen, frame
from corescale.declare import outputs
from corescale.declare.experiment import Experiment
from corescale.show import files
from corescale.show.charts import drawing
from corescale.show.charts.declared import declared, to_draw
from corescale.show.charts.model import Chart
from corescale.show.charts.of_answers import of_answers
from corescale.show.charts.of_run import of_run
from corescale.show.result import Result

__all__ = ["Chart", "declared", "must_have_references", "of", "of_run", "of_study", "write"]


LONGEST = 100
"""characters of a level in the name of a chart's file"""


def of(result: Result, scan: Scan | None, rows: pd.DataFrame | None = None) -> tuple[Chart, ...]:
    """The charts of the study, followed by the charts that every run has, except those with a name that is already
    taken.

    `rows` is the frame that declared charts read, by default that of the result's own records.
    """
    if rows is None and any(isinstance(output, outputs.Chart) for output in result.experiment.study.outputs):
        rows = frame(result.records, result.experiment)
    own = of_study(result, rows)
    taken = {chart.name for chart in own}
    return (*own, *(chart for chart in of_run(result, scan) if chart.name not in taken))


def of_study(result: Result, rows: pd.DataFrame | None) -> tuple[Chart, ...]:
    """The declared charts, and the charts of the study's answers."""
    own = of_declared(rows, result.experiment) if rows is not None else ()
    said = result.conclusion.answers if isinstance(result.conclusion, Study) else ()
    return (*own, *(chart.labelled(result.origins) for chart in of_answers(said)))


def of_declared(rows: pd.DataFrame, experiment: Experiment) -> tuple[Chart, ...]:
    """The declared charts in order, each drawn from its selected rows; with `each`, one chart for each level."""
    wanted = [output for output in experiment.study.outputs if isinstance(output, outputs.Chart)]
    made = [declared(chart, rows, experiment) for one in wanted for chart in _each(one, rows)]
    return tuple(chart for chart in made if chart is not None)


def must_have_references(experiment: Experiment, cores: int) -> None:
    """Raises UsageError, before any launch, if a chart is relative to launches that will not be made."""
    wanted = [output for output in experiment.study.outputs if isinstance(output, outputs.Chart) and output.normalise]
    rows = foreseen(experiment, cores) if wanted else None
    for chart in wanted:
        assert rows is not None
        for one in _each(chart, rows):
            to_draw(one, rows, experiment)


def _each(chart: outputs.Chart, rows: pd.DataFrame) -> Iterator[outputs.Chart]:
    if not chart.each:
        yield chart
        return
    taken: set[str] = set()
    for level in sorted(rows[chart.each].unique()):
        where = {**chart.where, chart.each: level}
        part = str(level).replace("/", "-").replace("\0", "")[:LONGEST]  # of a path or a long command too
        name, title = f"{chart.name}-{chart.each}-{part}", f"{chart.title}; {chart.each} {level}"
        while name in taken:
            name += "-"
        taken.add(name)
        yield chart.model_copy(update={"name": name, "title": title, "where": where})


def write(charts: tuple[Chart, ...], folder: Path) -> tuple[Path, ...]:
    """NAME.png and NAME.svg of every chart; the folder is made. UsageError if it cannot be written."""
    files.make_folder(folder)
    return tuple(path for chart in charts for path in drawing.write(chart, folder))
