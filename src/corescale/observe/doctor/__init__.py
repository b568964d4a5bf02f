# SPDX-License-Identifier: Apache-2.0
"""What is here, and how noisy it is now."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from corescale.errors import UnavailableError
from corescale.machine import Machine
from corescale.observe.doctor import doubts, installed, permissions, quietness
from corescale.observe.doctor.doubts import Doubt
from corescale.observe.doctor.installed import Installed
from corescale.observe.doctor.permissions import Permission
from corescale.observe.doctor.quietness import Progress, Quietness

__all__ = ["Diagnosis", "Doubt", "Installed", "Permission", "Progress", "Quietness", "doctor"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that `corescale doctor` shows."""

    machine: Machine
    installed: tuple[Installed, ...]
    permissions: tuple[Permission, ...]
    quietness: Quietness | None
    """None where it was not asked for, or could not be tried"""
    slurm: Mapping[str, str]
    """the SLURM_ variables that say what this job may use"""
    doubts: tuple[Doubt, ...]


SLURM_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
)


def doctor(progress: Progress = lambda what, done: None, *, noise: bool = True) -> Diagnosis:
    """Look at the machine, for some 3 s; without the noise test for half a second."""
    progress("what is here", 0.0)
    machine, found, allowed = Machine.here(), installed.survey(), permissions.survey()
    try:
        seen = quietness.measure(machine, progress) if noise else None
        failed: tuple[Doubt, ...] = ()
    except UnavailableError as error:
        seen, failed = None, (Doubt(error.what, error.remedy),)
    slurm = {name: os.environ[name] for name in SLURM_VARIABLES if name in os.environ}
    collected = (*failed, *doubts.collect(machine, allowed, seen, os.environ))
    return Diagnosis(machine, found, allowed, seen, slurm, collected)
