# SPDX-License-Identifier: Apache-2.0
"""Programs and data that ship with corescale, by their names."""

import os
import shutil
from pathlib import Path

from corescale import native
from corescale.errors import UnavailableError

WORKLOADS = (
    "ant_colony",
    "claim_simulator",
    "digital_evolution",
    "machine_constants",
    "matrix_multiply",
    "multi_newton",
    "pairwise_clustering",
    "unit_task",
)
"""programs that ship with corescale, once they are built"""

VARIANTS = ("ant_colony_tbbmalloc",)
"""second builds of workloads, with a library linked in, which exist if the library was found"""


def bundled(program: str) -> str:
    """The path of a workload that ships with corescale, if no program on PATH has that name."""
    if program not in (*WORKLOADS, *VARIANTS) or shutil.which(program):
        return program
    try:
        return str(native.find(program))
    except UnavailableError:
        return program


def folder(name: str) -> Path:
    """A folder that ships with corescale: in the package of a wheel, at the root of a source tree."""
    package = Path(__file__).resolve().parents[1]
    return next((path for path in (package / name, package.parents[1] / name) if path.is_dir()), package / name)


def data_folder() -> Path:
    """Input files that ship with corescale."""
    return folder("data")


def near(place: Path) -> str:
    """The path, relative if it is below the working folder, so that a line to paste stays short."""
    return os.path.relpath(place) if place.is_relative_to(Path.cwd()) else str(place)
