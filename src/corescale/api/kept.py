# SPDX-License-Identifier: Apache-2.0
"""The results of explain that are kept: `explain-HASH/N.json`, the output of --json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corescale.api import measuring
from corescale.declare import paths
from corescale.declare.experiment import Experiment
from corescale.declare.request import RunRequest
from corescale.errors import UsageError
from corescale.show import explain as show
from corescale.show import files


def folder_of(request: RunRequest, experiment: Experiment) -> Path:
    """Where results of this experiment are kept."""
    return Path(request.out or measuring.RUNS) / f"explain-{experiment.hash}"


def kept(folder: Path) -> list[Path]:
    """The results in a folder, in their order."""
    return sorted((path for path in folder.glob("*.json") if path.stem.isdecimal()), key=lambda path: int(path.stem))


def keep(shown: Mapping[str, Any], folder: Path) -> Path:
    """Writes the result behind the earlier ones; raises CorescaleError where that cannot be."""
    files.make_folder(folder)
    path = folder / f"{int(kept(folder)[-1].stem) + 1 if kept(folder) else 1}.json"
    files.write(str(path), json.dumps(shown, indent=2))
    return path


def is_result(path: Path) -> bool:
    """Whether a path is of explain: a folder of its results, or a file."""
    return path.suffix == ".json" or (paths.is_folder(path) and bool(kept(path)))


def earlier(place: str, where: str) -> tuple[Path, Mapping[str, Any]]:
    """A result that was kept, and its file: of a folder the last one. Raises UsageError, about the option `where`."""
    path = Path(place)
    try:
        path = kept(path)[-1] if path.is_dir() else path
        found: Mapping[str, Any] = json.loads(path.read_text())
        list(show.lines(found))
        list(show.side_by_side(found, found))
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError):
        remedy = "name a file or folder that an earlier explain has kept"
        raise UsageError(f"{place!r} is no result of explain", where=where, remedy=remedy) from None
    return path, found
