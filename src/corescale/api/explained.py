# SPDX-License-Identifier: Apache-2.0
"""The results of explain: the files `explain-HASH/N.json`, which --json also prints, and the class for programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter

from corescale import documents
from corescale.api import measuring
from corescale.declare import paths
from corescale.declare.experiment import Experiment
from corescale.declare.request import RunRequest
from corescale.errors import UsageError
from corescale.show import explain as show
from corescale.show import files
from corescale.show.explain_json import Result

if TYPE_CHECKING:
    import pandas as pd  # loading these takes a second, so only drawing does it
    from matplotlib.axes import Axes

    from corescale.show.charts import Chart


@dataclass(frozen=True, repr=False, eq=False)
class Explained:
    """Where every thread-second of a launch went. `print` shows it as the command line does."""

    file: Path
    """where it is kept"""
    shown: Mapping[str, Any]
    """everything as JSON values"""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The result in a file, or the last one of a folder that explain has kept; raises UsageError."""
        file, shown = earlier(fspath(path), "load")
        return cls(file, shown)

    @property
    def headline(self) -> str:
        """The thread-seconds and the cores' worth that was used, in one line."""
        return next(show.lines(self.shown))

    @cached_property
    def rows(self) -> "pd.DataFrame":
        """The rows of the ledger, by name: thread-`seconds`, `share`, and the `place` in the code that has most of
        them."""
        import pandas as pd  # noqa: PLC0415

        made = pd.DataFrame.from_dict(dict(self.shown["rows"]), orient="index")
        made["place"] = [sites[0]["place"] if sites else "" for sites in made["sites"]]
        return made[["seconds", "share", "place"]]

    @cached_property
    def hotspots(self) -> "pd.DataFrame":
        """The places with the most CPU time: `place`, CPU `seconds`, and how many of these went into `allocating`."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.shown["hotspots"], columns=["place", "seconds", "allocating"])

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the views that `plot` draws."""
        return tuple(chart.name for chart in self._charts)

    @cached_property
    def _charts(self) -> "tuple[Chart, ...]":
        from corescale.show.charts.of_explain import views  # noqa: PLC0415

        return tuple(views(self.shown))

    def plot(self, chart: str = "ledger", *, ax: "Axes | None" = None) -> "Axes":
        """Draw a view, and return matplotlib's axes; `ax`: axes to draw on. Raises UsageError if there is no such
        view."""
        from corescale.show.charts import drawing  # noqa: PLC0415

        return drawing.plotted(self._charts, chart, ax)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the page into a file, and return its path; raises UsageError if it cannot be written, or would replace
        a file that is no page."""
        from corescale.show import html  # noqa: PLC0415

        files.must_be_ours(fspath(path))
        files.write(fspath(path), html.explained(self.shown))
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON values, as `--json` prints it."""
        return dict(self.shown)

    def __repr__(self) -> str:
        return f"<corescale.Explained {self.file}: {self.headline}>"

    def __str__(self) -> str:
        return "\n".join(show.lines(self.shown))


def folder_of(request: RunRequest, experiment: Experiment) -> Path:
    """The folder that keeps the results of this experiment."""
    return Path(request.out or measuring.RUNS) / f"explain-{experiment.hash}"


def kept(folder: Path) -> list[Path]:
    """The results in a folder, in their order."""
    return sorted((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def keep(shown: Mapping[str, Any], folder: Path) -> Path:
    """Writes the result into a new file after the earlier ones; raises CorescaleError if it cannot."""
    files.make_folder(folder)
    path = folder / f"{int(kept(folder)[-1].stem) + 1 if kept(folder) else 1}.json"
    files.write(str(path), json.dumps(shown, indent=2))
    return path


def is_result(path: Path) -> bool:
    """Whether a path is a result of explain, or a folder of them."""
    return ".json" in (path.suffix, paths.real(path).suffix) or (paths.is_folder(path) and bool(kept(path)))


def is_export(path: Path) -> bool:
    """Whether a file is what --json or --export-json wrote about a run."""
    try:
        found = documents.value(documents.content(path), finite=False)
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and ("conclusion" in found or "results" in found)


def earlier(place: str, where: str) -> tuple[Path, Mapping[str, Any]]:
    """A kept result and its file; for a folder, its last result. Raises UsageError, about the option `where`."""
    path = Path(place)
    try:
        path = kept(path)[-1] if path.is_dir() else path
        text = documents.content(path)
        documents.typed(_schema(), text)
        found: Mapping[str, Any] = documents.value(text)
        list(show.lines(found))
        list(show.tables(found))
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error) if isinstance(error, ValueError) else ""
        what = f"{place!r} is not a result of explain{f' ({why})' if why else ''}"
        remedy = "name a file or folder that an earlier explain has kept"
        raise UsageError(what, where=where, remedy=remedy) from None
    return path, found


@cache
def _schema() -> TypeAdapter[Result]:
    return TypeAdapter(Result)
