# SPDX-License-Identifier: Apache-2.0
"""A result of explain as a Python program has it: its rows, its views, and the ways to show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from corescale.api import kept
from corescale.show import explain as show
from corescale.show import files

if TYPE_CHECKING:
    import pandas as pd  # these take a second to load, which only what they draw waits for
    from matplotlib.axes import Axes

    from corescale.show.charts import Chart


@dataclass(frozen=True, repr=False, eq=False)
class Explained:
    """Where every thread-second of a launch went. `print(it)` shows it as the command line does."""

    file: Path
    """where it is kept"""
    shown: Mapping[str, Any]
    """everything as JSON values"""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The result in a file, or the last one of a folder that explain has kept; raises UsageError."""
        file, shown = kept.earlier(fspath(path), "load")
        return cls(file, shown)

    @property
    def headline(self) -> str:
        """The thread-seconds and the cores' worth that was used, in one line."""
        return next(show.lines(self.shown))

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """A row for each of the ledger, by its name: thread-`seconds`, `share` and the `place` with most of it."""
        import pandas as pd  # noqa: PLC0415

        made = pd.DataFrame.from_dict(dict(self.shown["rows"]), orient="index")
        made["place"] = [sites[0]["place"] if sites else "" for sites in made["sites"]]
        return made[["seconds", "share", "place"]]

    @cached_property
    def hotspots(self) -> "pd.DataFrame":
        """The places with the most CPU time: `place`, CPU `seconds`, and those of them `allocating`."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.shown["hotspots"], columns=["place", "seconds", "allocating"])

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the views that `plot` draws."""
        return tuple(chart.name for chart in self._charts)

    @cached_property
    def _charts(self) -> "tuple[Chart, ...]":
        from corescale.show.charts.of_explain import views  # noqa: PLC0415

        return views(self.shown)

    def plot(self, chart: str = "ledger", *, ax: "Axes | None" = None) -> "Axes":
        """Draw a view, and return matplotlib's axes; `ax`: axes to draw on. Raises UsageError for one there is not."""
        from corescale.show.charts import static  # noqa: PLC0415

        return static.plotted(self._charts, chart, ax)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the page into a file, and return its path; raises UsageError where it cannot be written."""
        from corescale.show import html  # noqa: PLC0415

        files.write(fspath(path), html.explained(self.shown))
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON values, as `--json` prints it."""
        return dict(self.shown)

    def __repr__(self) -> str:
        return f"<corescale.Explained {self.file}: {self.headline}>"

    def __str__(self) -> str:
        return "\n".join(show.lines(self.shown))
