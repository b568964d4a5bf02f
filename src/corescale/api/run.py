# SPDX-License-Identifier: Apache-2.0
"""A run as a Python program has it: its records, its answer, and the ways to show them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from rich.console import Console

from corescale.api.results import machine_name
from corescale.conclude.conclusion import Conclusion
from corescale.conclude.frame import frame
from corescale.errors import UsageError
from corescale.show import exchange, files, headline, terminal
from corescale.show.result import Result

if TYPE_CHECKING:
    import pandas as pd  # these take a second to load, so only the functions that draw load them
    from matplotlib.axes import Axes

    from corescale.show.charts import Chart

A_co = TypeVar("A_co", bound=Conclusion, covariant=True)

WIDTH = 100
"""columns of a run that is printed"""


@dataclass(frozen=True, repr=False, eq=False)
class Run(Generic[A_co]):
    """One run, measured or read again. `print(run)` shows it as the command line does, a notebook as a table."""

    folder: Path
    """where its records are"""
    result: Result
    """what every output is made from: the experiment, its records, the answer, the machine"""

    @property
    def answer(self) -> A_co:
        """The answer of the verb: a Scan, a Recommendation of tune, a tuple of Comparisons, or a Study."""
        return cast(A_co, self.result.conclusion)

    @property
    def headline(self) -> str:
        """The answer in one line."""
        return headline.headline(self.result)

    @property
    def warnings(self) -> Sequence[str]:
        """What limits the answer, a line each."""
        return self.result.warnings

    @cached_property
    def records(self) -> "pd.DataFrame":
        """A row for each launch except warm-ups, in the order made; times in seconds, memory in bytes.

        Columns: `phase` (measure or confirm), a column for each factor, `time`, `status`, `noisy` and the others of
        docs/study.md, and the metrics of the program.
        """
        result = self.result
        rows = frame(result.records, result.experiment, machine_name(result.environment), phases=("measure", "confirm"))
        rows["phase"] = [record.phase for record in result.records if record.phase in ("measure", "confirm")]
        return rows

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the charts that `plot` draws, the verb's own first."""
        return tuple(chart.name for chart in self._charts)

    @cached_property
    def _charts(self) -> "tuple[Chart, ...]":
        from corescale.show import charts, html  # noqa: PLC0415

        return charts.of(self.result, html.curves_of(self.result))

    def plot(self, chart: str = "", *, ax: "Axes | None" = None) -> "Axes":
        """Draw a chart, by default the verb's own, and return matplotlib's axes (of several panels, the first one's).

        `ax`: axes to draw on, instead of a new figure. Raises UsageError for a chart that the records do not allow.
        """
        from corescale.show.charts import drawing  # noqa: PLC0415

        return drawing.plotted(self._charts, chart, ax)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the page into a file, and return its path; raises UsageError if it cannot be written, or would replace
        a file that is no page."""
        from corescale.show import html  # noqa: PLC0415

        files.must_be_ours(fspath(path))
        files.write(fspath(path), html.report(self.result))
        return Path(path)

    def export(self, format: str) -> str:  # noqa: A002
        """The text of an export, as `--export-NAME` writes it; raises UsageError for another name."""
        if format not in exchange.EXPORTERS:
            remedy = f"give one of {', '.join(exchange.EXPORTERS)}"
            raise UsageError(f"no format {format!r}", where="export", remedy=remedy)
        return exchange.EXPORTERS[format](self.result)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON values, as `--json` prints it."""
        return exchange.to_dict(self.result)

    def __repr__(self) -> str:
        return f"<corescale.Run {self.folder}: {self.headline}>"

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=WIDTH).print(terminal.render(self.result), crop=False)
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        from corescale.show import html  # noqa: PLC0415

        return html.fragment(self.result)
