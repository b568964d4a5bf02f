# SPDX-License-Identifier: Apache-2.0
"""Doctor: what this machine has, and how noisy it is now."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from corescale.errors import UnavailableError
from corescale.machine import Machine
from corescale.observe import launchers
from corescale.observe.doctor import cluster, installed, permissions, quietness, warnings
from corescale.observe.doctor.cluster import Cluster
from corescale.observe.doctor.installed import Installed
from corescale.observe.doctor.permissions import Permission
from corescale.observe.doctor.quietness import Progress, Quietness
from corescale.observe.doctor.warnings import DoctorWarning
from corescale.records import Layout

__all__ = ["Diagnosis", "DoctorWarning", "Installed", "Permission", "Progress", "Quietness", "doctor"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that `corescale doctor` shows."""

    machine: Machine
    installed: tuple[Installed, ...]
    permissions: tuple[Permission, ...]
    launchers: Mapping[str, tuple[str, ...]]
    """what each launcher can start here, besides a single thread: threads, ranks, nodes"""
    quietness: Quietness | None
    """None if it was not asked for, or could not be measured"""
    slurm: Mapping[str, str]
    """the SLURM_ variables that say what this job may use"""
    warnings: tuple[DoctorWarning, ...]
    cluster: Cluster | None = None
    """None if there is no Slurm, or if no cluster answers"""
    no_cluster: str = ""
    """why no cluster answers"""


SLURM_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
)


LAYOUTS = {"threads": Layout(2, 1, 1), "ranks": Layout(1, 2, 1), "nodes": Layout(1, 1, 2)}


def startable() -> dict[str, tuple[str, ...]]:
    """What each launcher can start, without launchers that are used only on request."""
    return {
        name: tuple(what for what, layout in LAYOUTS.items() if kind.cannot(layout) is None)
        for name, kind in launchers.LAUNCHERS.items()
        if not kind.only_if_asked
    }


def doctor(progress: Progress = lambda what, done: None, *, noise: bool = True) -> Diagnosis:
    """Look at the machine, for some 3 s; without the noise test for half a second."""
    progress("what is here", 0.0)
    machine, found, allowed = Machine.here(), installed.survey(), permissions.survey()
    try:
        seen = quietness.measure(machine, progress) if noise else None
        failed: tuple[DoctorWarning, ...] = ()
    except UnavailableError as error:
        seen, failed = None, (DoctorWarning(error.what, error.remedy),)
    slurm = {name: os.environ[name] for name in SLURM_VARIABLES if name in os.environ}
    collected = (*failed, *warnings.collect(machine, allowed, seen, os.environ))
    try:
        there, silent = cluster.survey(), ""
    except UnavailableError as error:
        there, silent = None, error.what
    return Diagnosis(machine, found, allowed, startable(), seen, slurm, collected, there, silent)
