# SPDX-License-Identifier: Apache-2.0
"""corescale: measures how a program scales over cores, explains it, and finds the fastest way to launch it.

docs/python.md has examples. What a program calls is loaded at its first use, so that the import takes no time.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corescale.api.explained import Explained
    from corescale.api.run import Run
    from corescale.api.verbs import compare, explain, load, read, scan, tune
    from corescale.errors import (
        CorescaleError,
        InconclusiveError,
        PreloadError,
        ProgramError,
        StoreError,
        UnavailableError,
        UsageError,
    )
    from corescale.show.progress import Progress

__version__ = "0.1.0"

__all__ = [
    "CorescaleError",
    "Explained",
    "InconclusiveError",
    "PreloadError",
    "ProgramError",
    "Progress",
    "Run",
    "StoreError",
    "UnavailableError",
    "UsageError",
    "compare",
    "explain",
    "load",
    "read",
    "scan",
    "tune",
]

_HOMES = {"Explained": "api.explained", "Run": "api.run", "Progress": "show.progress"}


def _home(name: str) -> str:
    return _HOMES.get(name, "errors" if name.endswith("Error") else "api.verbs")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_home(name)}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
