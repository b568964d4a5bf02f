# SPDX-License-Identifier: Apache-2.0
"""Launches one program by the native spawner, which measures it and leaves none of its processes running."""

from corescale.observe.spawn.report import ProvedProgram, SpawnedProcess, SpawnReport, bounds, parse
from corescale.observe.spawn.spawner import Spawner, SpawnRequest, options

__all__ = ["ProvedProgram", "SpawnReport", "SpawnRequest", "SpawnedProcess", "Spawner", "bounds", "options", "parse"]
